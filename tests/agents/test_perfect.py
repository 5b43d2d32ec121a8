"""The exact agent: what it plays keeps the value, on the standard board and on others, in time or out of it."""

import random

import pytest

from agents import perfect
from connectx_core import jit
from connectx_core.books import openings
from connectx_core.clock import Budget
from connectx_core.exact import promising
from connectx_core.position import STANDARD, Position, geometry_of, sign
from connectx_core.solver import Solver, Value
from tests.conftest import REAL_CLOCK, observe, random_game

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def solver() -> Solver:
    return Solver(STANDARD)


def late_positions(plies: range, games: int) -> list[Position]:
    rng = random.Random(12)
    return [p for _ in range(games) for p in random_game(STANDARD, rng) if p.ply in plies]


@REAL_CLOCK
def test_plays_perfectly(solver, monkeypatch):
    """Quickest wins; with SWINDLE, any move of the best result, without it a slowest loss."""
    for swindle, seconds, games in ((True, 0.3, 4), (False, 4.0, 8)):  # a choice takes all the time that there is
        monkeypatch.setattr(perfect, "SWINDLE", swindle)
        for position in late_positions(range(16, 42, 3), games):
            scores = [None if value is None else value.low for value in solver.scores(position)]
            best = max(score for score in scores if score is not None)
            chosen = scores[perfect.agent(*observe(position, act_timeout=seconds))]
            assert chosen is not None
            if best > 0 or not swindle:
                assert chosen == best
            else:
                assert (chosen > 0) - (chosen < 0) == (best > 0) - (best < 0)


def test_openings_are_known():
    """Without a node where it is won, without numba, and from either side."""
    for moves in ([3, 2, 2, 2], [3, 2, 2, 2, 0], [3, 0, 0, 0, 0, 0], [0, 1, 6, 1, 5, 1]):
        position = Position.from_moves(moves, STANDARD)
        scores = openings().scores(position)
        assert scores is not None
        solver = perfect.solver_for(STANDARD)
        nodes, best = solver.nodes, max(score for score in scores if score is not None)
        if best > 0:
            assert scores[perfect.move_by_solver(position, Budget(nodes=0))] == best
        else:
            assert sign(scores[perfect.move_by_solver(position, Budget(nodes=0))] or 0) == sign(best)
        assert solver.nodes == nodes


def test_out_of_time_it_plays_what_is_proven():
    """Never a move that is proven to lose where another is not; a legal one always."""
    for position in late_positions(range(8, 30), 4):
        assert perfect.move_by_solver(position, Budget.seconds(0.0)) in position.legal_columns()
    threatened = Position.from_moves([3, 0, 3, 0, 3], STANDARD)
    assert perfect.move_by_solver(threatened, Budget.seconds(0.0)) == 3
    values: list[Value | None] = [
        Value(-5, 5),
        Value(-5, -1),
        Value(0, 9),
        None,
        Value(-1, 9),
        Value(0, 0),
        Value(0, 3),
    ]
    assert list(promising(values)) == [2, 6]


def test_the_search_of_the_standard_board_is_never_compiled():
    assert not perfect.searcher_for(STANDARD).compiled
    assert perfect.searcher_for(geometry_of(9, 6, 4)).compiled == jit.compiles()


@pytest.mark.parametrize("shape", [(4, 5, 3), (5, 4, 3), (4, 4, 4), (6, 6, 4), (12, 12, 5)], ids=str)
def test_other_boards(shape):
    """Solved where that is possible in the time, searched where not."""
    rng, geometry = random.Random(3), geometry_of(*shape)
    for position in list(random_game(geometry, rng))[::3]:
        assert perfect.agent(*observe(position, act_timeout=0.1, overage=0.0)) in position.legal_columns()
