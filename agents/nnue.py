"""Alpha-beta search whose leaves a small integer network evaluates, about as fast as a heuristic ("NNUE").

The search is that of ``minimax``. The network adds up a row of learnt integers for what stands in each column and for
each threat, and makes one number of the sums: how well the side to move stands (``connectx_core/leaf.py``).
``train.py leaf`` makes it, for the standard board. On others, and where numba does not work, the search itself takes
the heuristic of ``connectx_core/evaluation.py``.
"""

from connectx_core.clock import budget_for
from connectx_core.leaf import leaf_net_from_bytes
from connectx_core.position import Position
from connectx_core.search import GameSearcher
from connectx_core.weights import read_data

network = leaf_net_from_bytes(read_data("weights/nnue.bin"))
search = GameSearcher(net=network)  # keeps its table from move to move of a game


def agent(obs, config):
    budget = budget_for(obs, config)
    result = search.find_move(Position.from_observation(obs, config), budget)
    agent.thoughts = search.thoughts  # type: ignore[attr-defined]  # what the web board shows
    return result.column
