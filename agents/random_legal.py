"""Any legal column, each as likely as the others: the course's ``random``, which never faults."""

import random

from connectx.position import Position


def agent(obs, config):
    return random.choice(Position.from_observation(obs, config).legal_columns())
