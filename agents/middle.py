"""The middle column; when it is full, the nearest column that is not.

The course's agent keeps playing the full column and forfeits; benchmarks/learners.py measures that one too.
"""

from connectx_core.position import Position


def agent(obs, config):
    position = Position.from_observation(obs, config)
    legal = set(position.legal_columns())
    return next(column for column in position.geometry.column_order if column in legal)
