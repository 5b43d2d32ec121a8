"""N-step look-ahead: minimax over the heuristic of Kaggle's course "Intro to Game AI", with alpha-beta.

The course counts windows of ``inarow`` cells: +1e6 if we fill it, +1 if we lack one stone; -1e4 and -100 for the
opponent's. Every root move gets its exact minimax value, so that the random choice among the best moves is the same as
in the course.
"""

import math
import random

from connectx_core.clock import Budget, budget_for
from connectx_core.evaluation import evaluate, free_lines, gap_planes
from connectx_core.jit import popcount
from connectx_core.position import Position, line_step

__all__ = ["evaluate"]  # which agents of version 1.0 import from here


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


def n_step_move(position: Position, steps: int, budget: Budget) -> int:
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
    return n_step_move(Position.from_observation(obs, config), 1, budget_for(obs, config))
