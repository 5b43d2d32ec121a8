"""The bitboard against Kaggle's own rules, known counts, and itself mirrored."""

import random
from itertools import starmap
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kaggle_environments.envs.connectx import connectx as kaggle

from connectx_core.jit import njit, plain
from connectx_core.position import (
    STANDARD,
    Position,
    geometry_of,
    has_line,
    key_of,
    mirror_bits,
    open_cells,
    winning_spots,
)
from tests.conftest import SHAPES, observe, random_game

pytestmark = pytest.mark.slow


# Distinct positions after so many plies of 7x6 (oeis.org/A212693).
POSITIONS_PER_PLY = [7, 49, 238, 1120, 4263, 16422, 54859, 184275]


def test_rules_equal_kaggles(geometry):
    """Random games: board, legal moves, wins in one of both sides, and the end are the same after each ply."""
    rng = random.Random(str(geometry))
    config = SimpleNamespace(**geometry._asdict())
    for _ in range(80):
        board, position, mark = [0] * geometry.cells, Position.empty(geometry), 1
        while not position.is_over():
            legal = [c for c in range(geometry.columns) if board[c] == 0]
            assert position.legal_columns() == legal
            for side, mover in ((mark, position), (3 - mark, position.pass_turn())):
                wins = [c for c in legal if kaggle.is_win(board, c, side, config, has_played=False)]
                assert mover.winning_columns() == wins
            column = rng.choice(legal)
            kaggle.play(board, column, mark, config)
            position = position.play(column)
            assert position.to_board() == board
            assert Position.from_observation(*observe(position)) == position
            assert position.is_lost() == kaggle.is_win(board, column, mark, config)
            assert position.is_full() == (0 not in board)
            mark = 3 - mark


def test_positions_per_ply():
    """Counts of distinct keys; games that are over are not played on."""
    layer = {Position.empty(STANDARD).key: Position.empty(STANDARD)}
    for expected in POSITIONS_PER_PLY:
        children = (p.play(c) for p in layer.values() if not p.is_over() for c in p.legal_columns())
        layer = {child.key: child for child in children}
        assert len(layer) == expected


@given(st.lists(st.integers(0, 6), max_size=42))
@settings(max_examples=200, deadline=None)
def test_mirror(columns):
    position, mirrored = Position.empty(STANDARD), Position.empty(STANDARD)
    for column in columns:
        if position.is_over() or column not in position.legal_columns():
            break
        position, mirrored = position.play(column), mirrored.play(6 - column)
        assert position.mirror() == mirrored
        assert mirrored.mirror() == position
        assert mirrored.winning_columns() == [6 - c for c in reversed(position.winning_columns())]


@njit
def everything(position, mask, geometry):
    return (
        open_cells(mask, geometry),
        winning_spots(position, mask, geometry),
        has_line(position, geometry),
        mirror_bits(mask, geometry),
        key_of(position, mask),
    )


@pytest.mark.parametrize("geometry", [shape for shape in starmap(geometry_of, SHAPES) if shape.fits_word], ids=str)
def test_compiled_equals_plain(geometry):
    """A board beyond 64 bits is never given to compiled code."""
    rng = random.Random(7)
    for _ in range(50):
        for position in random_game(geometry, rng):
            for mover in (position, position.pass_turn()):
                assert everything(mover.position, mover.mask, geometry) == plain(everything)(
                    mover.position, mover.mask, geometry
                )


def test_boards_of_64_bits():
    """All guards within 64 bits, and a line's diagonal shifted within them."""
    assert geometry_of(7, 8, 8).fits_word and not geometry_of(7, 8, 9).fits_word
    assert geometry_of(6, 9, 4).fits_word and not geometry_of(6, 10, 4).fits_word


def test_largest_board_of_64_bits():
    """8x7: the last guard is bit 63, the sign. Sums that reach it wrap when compiled and grow when not."""
    geometry, rng = geometry_of(7, 8, 4), random.Random(3)
    assert geometry.columns * geometry.stride == 64 and geometry.fits_word
    for _ in range(200):
        for position in random_game(geometry, rng):
            compiled = everything(position.position, position.mask, geometry)
            assert compiled[:4] == plain(everything)(position.position, position.mask, geometry)[:4]
            assert compiled[4] % 2**64 == position.key


def test_observation_forms():
    """Items, attributes, or both: all are read alike."""
    position = Position.from_moves([3, 3, 2], STANDARD)
    obs, config = observe(position)
    assert Position.from_observation(obs, config) == position
    assert Position.from_observation(SimpleNamespace(**obs), SimpleNamespace(**config)) == position
    with pytest.raises(AttributeError):
        Position.from_observation({"board": obs["board"]}, config)


def test_impossible_moves_are_refused():
    with pytest.raises(ValueError, match="column 7 cannot be played on ply 0"):
        Position.from_moves([7], STANDARD)
    with pytest.raises(ValueError, match="column 0 cannot be played on ply 6"):
        Position.from_moves([0] * 7, STANDARD)
    with pytest.raises(ValueError, match="column 2 cannot be played on ply 7"):
        Position.from_moves([0, 1, 0, 1, 0, 1, 0, 2], STANDARD)


@pytest.mark.parametrize("shape", [(0, 7, 4), (6, -1, 4), (6, 7, 0), (6.0, 7, 4), ("6", 7, 4), (True, 7, 4)])
def test_impossible_geometries_are_refused(shape):
    with pytest.raises(ValueError, match="should be an integer of at least 1"):
        geometry_of(*shape)


@pytest.mark.parametrize("column", [3, 7, -1, 99])
def test_a_column_that_cannot_be_played_is_refused(column):
    """Full, or not on the board: without a stone, the turn would pass unnoticed."""
    full = Position.from_moves([3] * 6, STANDARD)
    with pytest.raises(ValueError, match=r"is full, or not on the board|negative shift count"):
        full.play(column)
