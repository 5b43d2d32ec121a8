"""The three-step look-ahead of Kaggle's course "Intro to Game AI": minimax over the course's heuristic.

The heuristic (``connectx_core/lookahead.py``) counts windows of four cells: 1,000,000 for four stones of its own, 1 for
three and a gap, -10,000 and -100 for the opponent's. Of equally good columns it plays a random one. If time runs out it
takes what it found with fewer steps. To see an alpha-beta search in full, open ``alpha_beta.py``.
"""

from connectx_core.clock import budget_for
from connectx_core.lookahead import n_step_move
from connectx_core.position import Position

N_STEPS = 3


def agent(obs, config):
    budget = budget_for(obs, config)
    return n_step_move(Position.from_observation(obs, config), N_STEPS, budget)
