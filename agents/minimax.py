"""Heuristic minimax: alpha-beta search, compiled by numba, over the evaluation in this file. Read it, change it.

How the search works (``connectx_core/search.py``): it looks one ply deeper each round, until the clock says stop. Both
sides play their best move; moves that cannot change the choice are cut off. A table keeps what was found of positions
that come again. Wins and losses within its sight are proven, whatever the evaluation says. Of every other position at
the last ply it asks ``evaluate``.
"""

from functools import lru_cache

from connectx_core.clock import Budget, GameMemory, budget_for
from connectx_core.evaluation import good_rows, line_balance
from connectx_core.jit import jitable, popcount
from connectx_core.position import STANDARD, Geometry, Position, line_step, winning_spots
from connectx_core.search import Searcher

# A threat is an empty cell that completes a line of one's own.
GOOD_THREAT = 16  # in a row where the opponent runs out of other moves first (zugzwang)
OTHER_THREAT = 5
LINE_OF_TWO_GAPS = 3  # a line that lacks two stones, and holds none of the opponent's


@jitable
def threat_value(stones, both, is_first, geometry):
    """Value of one side's threats. ``is_first``: whether the stones are those of who began the game."""
    threats = winning_spots(stones, both, geometry)
    good = popcount(threats & good_rows(is_first, geometry))
    return GOOD_THREAT * good + OTHER_THREAT * (popcount(threats) - good)


def evaluate(mine, both, geometry):
    """How well the side to move stands: an integer from -9,000 to 9,000, 0 if both sides stand equally well.

    numba compiles it, with all that it calls: mark that as jitable.

    Args:
        mine: the stones of the side to move, as bits (``connectx_core/position.py``).
        both: the stones of both sides.
    """
    theirs = mine ^ both
    is_first = popcount(both) % 2 == 0
    value = threat_value(mine, both, is_first, geometry) - threat_value(theirs, both, not is_first, geometry)
    for direction in range(4):  # vertical, falling, horizontal, rising
        value += LINE_OF_TWO_GAPS * line_balance(mine, theirs, line_step(direction, geometry), geometry)
    return value


@lru_cache(maxsize=4)
def searcher_for(geometry: Geometry) -> Searcher:
    """One searcher per geometry, so that its table is kept for the whole game."""
    return Searcher(geometry, evaluate=evaluate)


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
