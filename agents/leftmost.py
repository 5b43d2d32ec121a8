"""The leftmost column that is not full, as in the course."""

from connectx_core.position import Position


def agent(obs, config):
    return Position.from_observation(obs, config).legal_columns()[0]
