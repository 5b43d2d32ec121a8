"""The solver against bitbully, against the plain oracle, and against itself under what must not change its answers."""

import itertools
import random

import pytest

from benchmarks.positions import random_samples
from connectx import jit
from connectx.geometry import STANDARD, geometry_of
from connectx.solver import Solver, Value
from tests import oracle
from tests.conftest import random_game


@pytest.fixture(scope="module")
def solver():
    return Solver(STANDARD)


def bitbully_scores(bitbully, sample):
    """bitbully's score of every column's move, None where it is full."""
    board = bitbully.BoardCore()
    assert board.play("".join(map(str, sample.moves)))
    scores = bitbully.BitBullyCore().scoreMoves(board)
    return [None if score < -100 else score for score in scores]


@pytest.mark.parametrize("stones", range(12, 42))
def test_every_move_score_equals_bitbully(solver, stones):
    bitbully = pytest.importorskip("bitbully.bitbully_core")
    for sample in itertools.islice(random_samples(stones, [stones]), 4 if stones < 16 else 15):
        values = solver.scores(sample.position)
        assert all(value is None or value.exact for value in values)
        assert [value and value.low for value in values] == bitbully_scores(bitbully, sample), sample.moves


SMALL_BOARDS = [
    # rows, columns, inarow, stones on the board from which the oracle is quick
    (4, 5, 3, 9),
    (5, 4, 3, 9),
    (4, 4, 4, 6),
    (3, 3, 3, 0),
    (3, 3, 2, 0),
    (2, 2, 2, 0),
    (2, 3, 1, 0),
    (1, 7, 4, 0),
    (7, 1, 4, 0),
    (5, 5, 4, 15),
    (3, 12, 4, 29),
    (7, 8, 4, 48),
    (8, 7, 4, 48),
    (6, 9, 5, 44),
]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("rows, columns, inarow, stones", SMALL_BOARDS)
def test_scores_equal_the_plain_oracle(rows, columns, inarow, stones, compiled):
    if compiled and not jit.COMPILED:
        pytest.skip("numba is not usable here")
    if compiled and (rows, columns) not in ((4, 5), (5, 4), (7, 8), (3, 12)):
        pytest.skip("compiling takes seconds; four shapes suffice")
    geometry = geometry_of(rows, columns, inarow)
    solver, known, checked = Solver(geometry, 16, compiled), dict[str, int](), 0
    for sample in itertools.islice(random_samples(1, range(stones, rows * columns), geometry), 40):
        expected = oracle.move_scores(oracle.board_after(rows, columns, sample.moves), inarow, known)
        values = solver.scores(sample.position)
        found = {column: value.low for column, value in enumerate(values) if value is not None and value.exact}
        assert found == expected, sample.moves
        assert solver.solve(sample.position) == Value(max(expected.values()), max(expected.values()))
        checked += 1
    assert checked


def test_analyse_agrees_with_scores():
    """The results of all moves and the best score are those of ``scores``; the bounds of the rest hold."""
    rng, solver = random.Random(4), Solver(STANDARD)
    for position in (p for _ in range(40) for p in random_game(STANDARD, rng) if p.ply in (16, 21, 26, 31)):
        found, exact = solver.analyse(position), solver.scores(position)
        assert [value is None for value in found] == [value is None for value in exact]
        pairs = [(f, e) for f, e in zip(found, exact, strict=True) if f is not None and e is not None]
        assert max(f.low for f, _ in pairs) == max(e.low for _, e in pairs)
        assert all(f.low <= e.low <= f.high and f.result == e.result for f, e in pairs)
