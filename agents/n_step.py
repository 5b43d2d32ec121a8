"""The three-step look-ahead of Kaggle's course "Intro to Game AI": minimax over the course's heuristic."""

from connectx_core.clock import budget_for
from connectx_core.lookahead import choose
from connectx_core.position import Position

N_STEPS = 3


def agent(obs, config):
    budget = budget_for(obs, config)
    return choose(Position.from_observation(obs, config), N_STEPS, budget)
