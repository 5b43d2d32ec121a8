"""One-step look-ahead of Kaggle's course: the move with the highest value of its heuristic, of equal ones any.

The heuristic (``connectx_core/lookahead.py``) counts windows of four cells: 1,000,000 for four stones of its own, 1 for
three and a gap, -10,000 and -100 for the opponent's.
"""

from connectx_core.lookahead import one_step_move


def agent(obs, config):
    return one_step_move(obs, config)
