"""The static evaluation: the value of a position at the leaves of ``connectx_core.search``."""

import inspect
import random
from collections.abc import Callable

from connectx_core.jit import jitable, plain, popcount
from connectx_core.position import Geometry, Position, line_step, winning_spots

__all__ = ["LIMIT", "evaluate"]

# With 20,000 nodes per move, these scored 60 +- 6.5% against weights of 24, 6, 2 plus 6 for lines of one gap (200
# games); neighbouring values differ by less than the noise. A line that lacks one stone counts only as a threat.
GOOD_THREAT = 16  # a cell that completes a line, in a row where zugzwang favours the owner of the threat
OTHER_THREAT = 5
LINE_OF_TWO_GAPS = 3  # a line without stones of the opponent that lacks two stones
LIMIT = 9_000  # the largest evaluation: proven wins score more


@jitable
def free_lines(cells, step, inarow):
    """First cells (lowest bits) of the lines of ``inarow`` cells, ``step`` bits apart, that lie fully in ``cells``."""
    lines = cells
    for distance in range(1, inarow):
        lines &= cells >> distance * step
    return lines


@jitable
def gap_planes(empty, step, inarow):
    """For each line, by its first cell, whether it has at least one, two, three empty cells: a unary bit counter."""
    one, two, three = 0, 0, 0
    for distance in range(inarow):
        gap = empty >> distance * step
        three |= two & gap
        two |= one & gap
        one |= gap
    return one, two, three


@jitable
def line_balance(position, opponent, step, geometry):
    """In one direction, the mover's open lines with two gaps minus the opponent's.

    A side's open line holds only its own stones and gaps, so that one count of gaps serves both sides.
    """
    empty = geometry.board_mask ^ (position | opponent)
    _, two, three = gap_planes(empty, step, geometry.inarow)
    two_gaps = two & ~three
    mine = free_lines(position | empty, step, geometry.inarow) & two_gaps
    theirs = free_lines(opponent | empty, step, geometry.inarow) & two_gaps
    return popcount(mine) - popcount(theirs)


@jitable
def good_rows(is_first, geometry):
    """The cells where a threat is worth most. With an even number of rows, zugzwang gives cells of odd rows (counted
    from 1) to the first player and of even rows to the second, for the second can answer each stone in its column.
    """
    if geometry.rows % 2:
        return geometry.board_mask
    rows = 0
    for row in range(0 if is_first else 1, geometry.rows, 2):
        rows |= geometry.bottom_mask << row
    return rows


@jitable
def threat_value(stones, mask, is_first, geometry):
    """Value of the threats of ``stones``: the cells that complete one of their lines."""
    threats = winning_spots(stones, mask, geometry)
    good = popcount(threats & good_rows(is_first, geometry))
    return GOOD_THREAT * good + OTHER_THREAT * (popcount(threats) - good)


@jitable
def evaluate(position, mask, geometry):
    """Value for the side to move, within +-LIMIT; 0 if both sides stand equally well.

    >>> from connectx_core.position import STANDARD
    >>> evaluate(0, 0, STANDARD)
    0

    Args:
        position: the stones of the side to move, as bits.
        mask: the stones of both sides.
    """
    opponent = position ^ mask
    mover_is_first = popcount(mask) % 2 == 0
    value = threat_value(position, mask, mover_is_first, geometry)
    value -= threat_value(opponent, mask, not mover_is_first, geometry)
    for direction in range(4):
        step = line_step(direction, geometry)
        value += LINE_OF_TWO_GAPS * line_balance(position, opponent, step, geometry)
    return max(-LIMIT, min(LIMIT, value))


def takes_position(evaluation: Callable) -> bool:
    """Whether an evaluation is a function of a Position, and not of (stones of the mover, all stones, geometry)."""
    return len(inspect.signature(plain(evaluation)).parameters) == 1


CHECKED_GAMES = 10  # random ones, in whose positions somebody's evaluation is tried


def check_evaluation(evaluation: Callable, geometry: Geometry) -> None:
    """Raises ValueError if an evaluation raises, or gives no integer within +-LIMIT, in a position of random games."""
    function, rng = plain(evaluation), random.Random(1)
    for _ in range(CHECKED_GAMES):
        position, columns = Position.empty(geometry), list[int]()
        while not position.is_over():
            where = f"after the columns {' '.join(map(str, columns))}" if columns else "of the empty board"
            try:
                value = function(position) if takes_position(function) else function(*position)
            except Exception as problem:
                reason = " ".join(f"{type(problem).__name__}: {problem}".split())
                raise ValueError(f"evaluate raises {reason} {where}") from problem
            if not hasattr(value, "__index__") or abs(value) > LIMIT:
                raise ValueError(f"evaluate gives {value!r} {where}: expected an integer from -{LIMIT} to {LIMIT}")
            columns.append(rng.choice(position.legal_columns()))
            position = position.play(columns[-1])
