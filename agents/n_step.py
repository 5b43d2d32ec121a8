"""The three-step look-ahead of Kaggle's course "Intro to Game AI": minimax over the course's heuristic."""

from connectx.clock import budget_for
from connectx.lookahead import choose
from connectx.position import Position

N_STEPS = 3


def agent(obs, config):
    budget = budget_for(obs, config)
    return choose(Position.from_observation(obs, config), N_STEPS, budget)
