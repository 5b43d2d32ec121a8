"""Heuristic minimax: alpha-beta search, compiled by numba, over the evaluation in this file. Read it, change it.

How the search works (``connectx_core/search.py``): it looks one ply deeper each round, until the clock says stop. Both
sides play their best move; moves that cannot change the choice are cut off. A table keeps the values of positions, as
many come again by another order of moves. Wins and losses within the search depth are proven, whatever the evaluation
says. ``evaluate`` is asked about every other position at the last ply.
"""

from connectx_core.clock import budget_for
from connectx_core.evaluation import good_rows, line_balance
from connectx_core.jit import jitable, popcount
from connectx_core.position import Position, line_step, winning_spots
from connectx_core.search import GameSearcher

# A threat is an empty cell that completes a line of one's own.
GOOD_THREAT = 16  # in a good row: odd ones for the first player, even ones for the second (zugzwang)
OTHER_THREAT = 5
LINE_OF_TWO_GAPS = 3  # a line that lacks two stones and holds none of the opponent's


@jitable
def threat_value(stones, both, is_first, geometry):
    """Value of one side's threats. ``is_first``: whether the stones are those of the player who moved first."""
    threats = winning_spots(stones, both, geometry)
    good = popcount(threats & good_rows(is_first, geometry))
    return GOOD_THREAT * good + OTHER_THREAT * (popcount(threats) - good)


def evaluate(mine, both, geometry):
    """How well the side to move stands: an integer from -9,000 to 9,000, 0 if both sides stand equally well.

    numba compiles it: use integers and loops, and put ``@jitable`` on each function that it calls.

    Args:
        mine: the stones of the side to move, as bits: ``popcount(mine & column_cells(3, geometry))`` counts those in
            column 3 (``connectx_core/position.py``).
        both: the stones of both sides.
    """
    theirs = mine ^ both
    is_first = popcount(both) % 2 == 0  # after an even number of stones the first player is to move
    value = threat_value(mine, both, is_first, geometry) - threat_value(theirs, both, not is_first, geometry)
    for direction in range(4):  # vertical, falling, horizontal, rising
        # the mover's lines minus the opponent's
        value += LINE_OF_TWO_GAPS * line_balance(mine, theirs, line_step(direction, geometry), geometry)
    return value


search = GameSearcher(evaluate=evaluate)  # compiles it, and keeps the table from move to move of a game


def agent(obs, config):
    budget = budget_for(obs, config)
    result = search.find_move(Position.from_observation(obs, config), budget)
    agent.thoughts = search.thoughts  # type: ignore[attr-defined]  # what the web board shows
    return result.column
