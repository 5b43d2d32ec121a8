"""N-step look-ahead: minimax over the heuristic of Kaggle's course "Intro to Game AI", with alpha-beta.

The course counts windows of ``inarow`` cells: +1e6 if we fill it, +1 if we lack one stone; -1e4 and -100 for the
opponent's. Every root move gets its exact minimax value, so that the random choice among the best moves is the same as
in the course.

``evaluate`` is another static evaluation: the value of a position at the leaves of ``connectx.search``.
"""

import math
import random

from connectx.clock import Budget, budget_for
from connectx.jit import jitable, popcount
from connectx.position import Position, line_step, winning_spots

__all__ = ["evaluate"]

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
def lines_lacking(gaps, stones, mask, geometry):
    """Number of lines, in all directions, with ``gaps`` (0 or 1) empty cells and otherwise only ``stones``."""
    empty = geometry.board_mask ^ mask
    count = 0
    for direction in range(4):
        step = line_step(direction, geometry)
        one, two, _ = gap_planes(empty, step, geometry.inarow)
        wanted = one & ~two if gaps else ~one
        count += popcount(free_lines(stones | empty, step, geometry.inarow) & wanted)
    return count


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

    >>> from connectx.position import STANDARD
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


def course_score(position: Position, mine: int) -> float:
    """The course's heuristic for the side whose stones are ``mine``."""
    theirs = mine ^ position.mask
    ours_full, ours_near, theirs_full, theirs_near = (
        lines_lacking(gaps, stones, position.mask, position.geometry) for stones in (mine, theirs) for gaps in (0, 1)
    )
    return 1e6 * ours_full + ours_near - 1e4 * theirs_full - 1e2 * theirs_near


class OutOfTime(Exception):
    """The budget ended before the look-ahead did."""


def minimax(position: Position, mine: int, steps: int, alpha: float, beta: float, budget: Budget) -> float:
    """The minimax value for the side that owns ``mine``, exact if it lies between alpha and beta."""
    if budget.is_late():
        raise OutOfTime
    if steps == 0 or position.is_over():
        return course_score(position, mine)
    maximizing = position.position == mine
    best = -math.inf if maximizing else math.inf
    for column in position.legal_columns():
        child = position.play(column)
        value = minimax(child, child.mask ^ child.position if maximizing else mine, steps - 1, alpha, beta, budget)
        if maximizing:
            best = max(best, value)
            alpha = max(alpha, value)
        else:
            best = min(best, value)
            beta = min(beta, value)
        if alpha >= beta:
            break
    return best


def score_moves(position: Position, steps: int, budget: Budget) -> dict[int, float]:
    """The exact minimax value of every legal column, at a depth of ``steps`` plies."""
    children = {column: position.play(column) for column in position.legal_columns()}
    return {
        column: minimax(child, child.mask ^ child.position, steps - 1, -math.inf, math.inf, budget)
        for column, child in children.items()
    }


def choose(position: Position, steps: int, budget: Budget) -> int:
    """A random one of the best columns at a depth of ``steps`` plies, or less if time runs out (3 plies take ms)."""
    best = position.legal_columns()
    try:
        for depth in range(1, steps + 1):
            scores = score_moves(position, depth, budget)
            best = [column for column in scores if scores[column] == max(scores.values())]
    except OutOfTime:
        pass  # use the last completed depth
    return random.choice(best)


def one_step_move(obs, config) -> int:
    """The move of the course's one-step look-ahead: what agents with a network play on boards that it is not for."""
    return choose(Position.from_observation(obs, config), 1, budget_for(obs, config))
