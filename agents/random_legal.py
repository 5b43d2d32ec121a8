"""A uniformly random legal column, as the course's ``random`` agent, which never makes a fault."""

import random

from connectx_core.position import Position


def agent(obs, config):
    return random.choice(Position.from_observation(obs, config).legal_columns())
