"""The table of exact openings: made from nothing on a small board, read back, and refused where it does not fit."""

import random

import numpy as np
import pytest

from connectx_core.books import Openings, layers, openings, wins_at_once
from connectx_core.clock import Budget
from connectx_core.position import STANDARD, Geometry, Position, geometry_of
from connectx_core.solver import Solver, Value

pytestmark = pytest.mark.slow
SMALL, LAST = geometry_of(4, 5, 4), 4
COUNTS = (1, 4, 25, 121, 568, 2144, 8231, 27109, 91295)  # of 7x6, up to mirroring, as published


def positions_of(geometry: Geometry, last_ply: int) -> list[Position]:
    both = [pair for layer in layers(geometry, last_ply) for pair in zip(*layer, strict=True)]
    return [Position(int(position), int(mask), geometry) for position, mask in both]


@pytest.fixture(scope="module")
def table() -> Openings:
    *_, last = layers(SMALL, LAST)
    quiet, solver = ~wins_at_once(last, SMALL), Solver(SMALL, 16)
    return Openings(SMALL, LAST, solver.solve_many(*(bits[quiet] for bits in last))[:, 0].astype(np.int8))


def test_number_of_openings():
    assert tuple(len(layer.masks) for layer in layers(STANDARD, 8)) == COUNTS


def test_every_score_and_those_of_all_moves_equal_the_solver(table):
    """Plies 0 to 4 from nothing; the solver is held to an independent oracle elsewhere."""
    solver, positions = Solver(SMALL, 16), positions_of(SMALL, LAST)
    assert len(table) == len(positions) == 243
    for position in positions:
        score = table.score(position)
        assert solver.solve(position) == Value(score, score)
        assert table.score(position.mirror()) == score
        values = [value and value.low for value in solver.scores(position)]
        assert table.scores(position) == (values if position.ply < LAST else None)


def test_what_it_does_not_know(table):
    assert table.score(Position.from_moves([0, 1, 2, 3, 4], SMALL)) is None
    assert table.score(Position.empty(STANDARD)) is None
    assert table.scores(Position.empty(STANDARD)) is None


def test_bytes(table):
    content = bytearray(table.to_bytes())
    again = Openings.from_bytes(bytes(content))
    assert (again.last_scores == table.last_scores).all() and again.to_bytes() == content
    content[-1] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        Openings.from_bytes(bytes(content))
    with pytest.raises(ValueError, match="scores do not fit"):
        Openings(SMALL, LAST, table.last_scores[1:])


@pytest.mark.parametrize("last_ply", [3, 4])
def test_where_every_game_is_over_before(last_ply):
    board = geometry_of(2, 2, 2)
    tiny = Openings(board, last_ply, np.zeros(0, np.int8))
    assert tiny.score(Position.empty(board)) == Solver(board, 4, compiled=False).solve(Position.empty(board)).low


def test_wins_at_once_is_what_the_positions_say():
    *_, last = layers(STANDARD, 7)
    chosen = slice(None, None, 50)
    positions = [Position(int(p), int(m), STANDARD) for p, m in zip(*(bits[chosen] for bits in last), strict=True)]
    assert [bool(p.winning_columns()) for p in positions] == wins_at_once(last, STANDARD)[chosen].tolist()


EMPTY_BOARD = [-2, -1, 0, 1, 0, -1, -2]  # Allis 1988, and every solver since


def best_by_moves(position: Position, last_ply: int) -> int:
    """A score from those of the last ply alone, by plain recursion."""
    if position.winning_columns():
        return (43 - position.ply) // 2
    if position.ply == last_ply:
        return openings().score(position) or 0
    return max(-best_by_moves(position.play(column), last_ply) for column in position.legal_columns())


def test_the_toolkits_own_table():
    """Plies 0 to 4 follow from the ply after, and a sample of the last ply is solved again."""
    table, rng = openings(), random.Random(4)
    assert table.scores(Position.empty(STANDARD)) == EMPTY_BOARD and len(table) == sum(COUNTS)
    for position in positions_of(STANDARD, 4):
        assert table.score(position) == best_by_moves(position, 5)
    for position in rng.sample([p for p in positions_of(STANDARD, 7) if p.ply == 7], 200):
        assert table.score(position) == best_by_moves(position, 8)
    *_, last = layers(STANDARD, 8)
    solver = Solver(STANDARD)
    for place in rng.sample(range(len(last.masks)), 40):
        position = Position(int(last.positions[place]), int(last.masks[place]), STANDARD)
        value = solver.solve(position, Budget(nodes=500_000))
        assert value.low <= (table.score(position) or 0) <= value.high
    assert len(table.to_bytes()) < 1 << 16
