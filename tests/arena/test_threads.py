"""Exact scores asked for by several threads at once are those that a single one finds."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from connectx_core.exact import exact_scores
from connectx_core.position import STANDARD, Position, Scores
from connectx_core.solver import Solver
from connectx_toolkit.api import get_win_percentages
from connectx_toolkit.board.thinking import Analyst
from connectx_toolkit.games.analysis import solvers_for
from connectx_toolkit.system.object_pool import KEPT_IDLE, ObjectPool

pytestmark = pytest.mark.slow


def positions_of(plies: int, count: int, seed: int) -> list[Position]:
    """Positions by random moves in which nobody can win at once."""
    rng, found = random.Random(seed), list[Position]()
    while len(found) < count:
        position = Position.empty(STANDARD)
        while position.ply < plies and not position.is_over():
            position = position.play(rng.choice(position.legal_columns()))
        if not (position.is_over() or position.winning_columns() or position.pass_turn().winning_columns()):
            found.append(position)
    return found


def scores_of(position: Position) -> Scores | None:
    with solvers_for(STANDARD) as (solver, *_):
        return exact_scores(position, solver)


def test_exact_scores_from_four_threads_with_a_board_open():
    """Against a solver that nobody else has, during and after."""
    positions = positions_of(16, 200, 5)
    private = Solver(STANDARD)
    truth = {one: [value and value.low for value in private.scores(one)] for one in positions}
    solvers_for.cache_clear()
    analyst = Analyst()
    analyst.want("board", positions_of(10, 30, 6), lambda *_: None)
    with ThreadPoolExecutor(4) as pool:
        together = dict(zip(positions, pool.map(scores_of, positions), strict=True))
    analyst.forget("board")
    assert together == truth
    assert {one: scores_of(one) for one in positions} == truth


def test_nobody_else_has_what_was_taken():
    made: ObjectPool[int, list[int]] = ObjectPool(lambda key: [key])
    with made(1) as first, made(1) as second:
        assert first is not second
    with made(1) as again:
        assert again is first or again is second
    for key in range(2 * KEPT_IDLE):
        with made(key):
            pass
    assert len(made._idle) == KEPT_IDLE


def test_what_an_interrupted_block_worked_with_is_dropped():
    made: ObjectPool[int, list[int]] = ObjectPool(lambda key: [key])
    with pytest.raises(KeyboardInterrupt), made(1) as first:
        raise KeyboardInterrupt
    with made(1) as second:
        assert second is not first


def test_games_from_three_threads(capfd):
    """A process plays in one thread at a time; the others wait."""
    pairs = [("leftmost", "middle"), ("middle", "random"), ("random", "leftmost")]

    def wins(pair: tuple[str, str]) -> tuple[int, int]:
        return get_win_percentages(*pair, n_rounds=4, seed=1, isolate=False).wins

    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(wins, pairs))
    assert together == [wins(pair) for pair in pairs]
