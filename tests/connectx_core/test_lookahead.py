"""The static evaluation against counts made cell by cell."""

import random
from itertools import product

from connectx_core import evaluation
from connectx_core.evaluation import LIMIT, evaluate, gap_planes, good_rows
from connectx_core.jit import njit
from connectx_core.lookahead import lines_lacking
from connectx_core.position import STANDARD, Geometry, Position, geometry_of
from tests.conftest import random_game


def lines_of(geometry: Geometry) -> list[list[int]]:
    """Every line of inarow cells, as indices into Kaggle's board."""
    lines = []
    for row, column, (down, right) in product(
        range(geometry.rows), range(geometry.columns), ((0, 1), (1, 0), (1, 1), (1, -1))
    ):
        last_row, last_column = row + down * (geometry.inarow - 1), column + right * (geometry.inarow - 1)
        if last_row < geometry.rows and 0 <= last_column < geometry.columns:
            steps = range(geometry.inarow)
            lines.append([(row + down * i) * geometry.columns + column + right * i for i in steps])
    return lines


def test_lines_lacking(geometry):
    rng, lines = random.Random(5), lines_of(geometry)
    for position in random_game(geometry, rng):
        board, mark = position.to_board(), 1 + position.ply % 2
        for gaps in (0, 1):
            expected = sum(
                [board[cell] for cell in line].count(0) == gaps
                and [board[cell] for cell in line].count(mark) == geometry.inarow - gaps
                for line in lines
            )
            assert lines_lacking(gaps, position.position, position.mask, geometry) == expected


def test_gap_planes_count_to_three(geometry):
    position = list(random_game(geometry, random.Random(2)))[-1]
    empty = geometry.board_mask ^ position.mask
    planes = gap_planes(empty, geometry.stride, geometry.inarow)
    for bit in range(geometry.columns * geometry.stride):
        gaps = sum(empty >> (bit + distance * geometry.stride) & 1 for distance in range(geometry.inarow))
        assert [plane >> bit & 1 for plane in planes] == [gaps >= 1, gaps >= 2, gaps >= 3]


def slow_value(board: list[int], mark: int, geometry: Geometry) -> int:
    """The evaluation of one side, cell by cell: 16 and 5 a threat, 3 an open line that lacks two stones."""
    threats, open_lines = set(), 0
    for line in lines_of(geometry):
        cells = [board[cell] for cell in line]
        if cells.count(mark) + cells.count(0) == geometry.inarow:
            gaps = [cell for cell in line if board[cell] == 0]
            open_lines += len(gaps) == 2
            threats |= set(gaps) if len(gaps) == 1 else set()
    value = 3 * open_lines
    for cell in threats:
        row = geometry.rows - cell // geometry.columns  # from 1 at the bottom
        value += 16 if geometry.rows % 2 or row % 2 == mark % 2 else 5
    return value


@njit
def evaluate_compiled(position, mask, geometry):
    return evaluate(position, mask, geometry)


def test_evaluate(geometry):
    """The count made cell by cell, of the side to move less the other's; compiled as in plain Python."""
    rng, seen = random.Random(11), set()
    for _ in range(20):
        for position in random_game(geometry, rng):
            value = evaluate(position.position, position.mask, geometry)
            board, mark = position.to_board(), 1 + position.ply % 2
            assert value == slow_value(board, mark, geometry) - slow_value(board, 3 - mark, geometry)
            seen.add(value)
            mirrored = position.mirror()
            assert evaluate(mirrored.position, mirrored.mask, geometry) == value
            if geometry.fits_word:
                assert evaluate_compiled(position.position, position.mask, geometry) == value
    assert len(seen) > 20 or geometry.cells < 10


def test_no_evaluation_looks_like_a_proven_win(monkeypatch):
    """Where threats are worth more than any win, the limit holds, for either side."""
    monkeypatch.setattr(evaluation, "GOOD_THREAT", 10**6)
    monkeypatch.setattr(evaluation, "OTHER_THREAT", 10**6)
    position = Position.from_moves([3, 0, 3, 0, 3], STANDARD)  # the first player threatens; it is the second's move
    assert evaluate(position.position, position.mask, STANDARD) == -LIMIT
    turned = position.pass_turn()
    assert evaluate(turned.position, turned.mask, STANDARD) == LIMIT


def test_good_rows_are_told_by_parity():
    """Six rows: zugzwang gives rows 1, 3, 5 to the first player, 2, 4, 6 to the second. Five rows: no such rule."""
    assert good_rows(True, STANDARD) | good_rows(False, STANDARD) == STANDARD.board_mask
    assert good_rows(True, STANDARD) & STANDARD.bottom_mask == STANDARD.bottom_mask
    assert good_rows(False, STANDARD) == good_rows(True, STANDARD) << 1
    five = geometry_of(5, 7, 4)
    assert good_rows(True, five) == good_rows(False, five) == five.board_mask
