"""A uniformly random legal column, like Kaggle's ``random`` agent. It never plays a full column."""

import random

from connectx_core.position import Position


def agent(obs, config):
    return random.choice(Position.from_observation(obs, config).legal_columns())
