"""Alpha-beta search with an NNUE-style evaluator: a small integer network, about as fast as a heuristic, at the leaves.

``train.py leaf`` makes the network, for the standard board. On others, and where numba does not work, the search
evaluates by the heuristic of ``connectx_core/evaluation.py``. The search is that of ``minimax``.
"""

from functools import lru_cache

from connectx_core.clock import Budget, GameMemory, budget_for
from connectx_core.leaf import from_bytes
from connectx_core.position import STANDARD, Geometry, Position
from connectx_core.search import Searcher
from connectx_core.weights import read_data

network = from_bytes(read_data("weights/nnue.bin"))


@lru_cache(maxsize=4)
def searcher_for(geometry: Geometry) -> Searcher:
    """One searcher per geometry, so that its table is kept for the whole game."""
    return Searcher(geometry, net=network)


game = GameMemory(searcher_for.cache_clear)


def agent(obs, config):
    budget = budget_for(obs, config)
    position = Position.from_observation(obs, config)
    game.meet(position)
    searcher = searcher_for(position.geometry)
    result = searcher.search(position, budget)
    agent.thoughts = lambda: searcher.thoughts(position, result)  # type: ignore[attr-defined]  # the board asks for it
    game.leave(position.play(result.column))
    return result.column


# Its kernel is made ready while the file loads: the first move has the most time to spare.
searcher_for(STANDARD).search(Position.empty(STANDARD), Budget(nodes=1))
