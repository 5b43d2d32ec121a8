"""One-step look-ahead of Kaggle's course: the move with the highest value of its heuristic."""

from agents.n_step import choose
from connectx.clock import budget_for
from connectx.position import Position


def agent(obs, config):
    budget = budget_for(obs, config)
    return choose(Position.from_observation(obs, config), 1, budget)
