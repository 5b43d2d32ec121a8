"""One-step look-ahead of Kaggle's course: the move with the highest value of its heuristic."""

from connectx_core.lookahead import one_step_move


def agent(obs, config):
    return one_step_move(obs, config)
