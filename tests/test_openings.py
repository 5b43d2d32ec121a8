"""Openings: text, recipe, variety."""

from functools import cache
from itertools import islice

import pytest

from arena.game.openings import (
    BALANCED,
    CLOSE,
    DRAWN,
    balanced_openings,
    is_quiet,
    openings_for,
    parse_columns,
    parse_opening,
    random_openings,
    read_openings,
    write_opening,
)
from connectx.geometry import STANDARD, geometry_of
from connectx.position import Position
from connectx.solver import Solver

SMALL = geometry_of(4, 3, 3)
WIDE = geometry_of(3, 12, 4)


@cache
def exact_score(position: Position) -> int:
    """Plain negamax: good for boards of 12 cells."""
    if position.is_full():
        return 0
    if position.winning_columns():
        return (position.geometry.cells + 1 - position.ply) // 2
    return max(-exact_score(position.play(column)) for column in position.legal_columns())


@pytest.mark.parametrize(("text", "moves"), [("3342", (3, 3, 4, 2)), (" 0,1,6 ", (0, 1, 6)), ("", ())])
def test_text(text, moves):
    assert parse_opening(text, STANDARD) == moves
    assert parse_opening(write_opening(moves), STANDARD) == moves


def test_text_of_wide_boards():
    assert write_opening((1, 11, 3)) == "1,11,3" and parse_opening("1,11,3", WIDE) == (1, 11, 3)
    assert write_opening((10,)) == "10," and parse_opening("10,", WIDE) == (10,)


@pytest.mark.parametrize("moves", [(), (9,), (10,), (1, 0), (11, 9), (0, 10, 10)])
def test_text_stands_for_one_sequence_of_moves(moves):
    assert parse_columns(write_opening(moves)) == moves


@pytest.mark.parametrize("text", [",", "3,,4", "3 4", "x"])
def test_text_that_is_no_columns(text):
    with pytest.raises(ValueError, match="expected columns such as"):
        parse_columns(text)


@pytest.mark.parametrize("text", ["7", "3a", "3333333", "0101010", "01010101"])
def test_refused(text):
    with pytest.raises(ValueError, match=f"opening '{text}'"):
        parse_opening(text, STANDARD)


def test_read_openings(tmp_path):
    path = tmp_path / "openings.txt"
    path.write_text("# two of them\n33\n\n3324 # a remark\n")
    assert read_openings(path, STANDARD) == [(3, 3), (3, 3, 2, 4)]
    path.write_text("# none\n")
    with pytest.raises(ValueError, match="holds none"):
        read_openings(path, STANDARD)
    with pytest.raises(ValueError, match="openings: "):
        read_openings(tmp_path / "missing", STANDARD)


def test_random_openings_are_quiet_and_distinct():
    openings = list(islice(random_openings(STANDARD, seed=1), 300))
    positions = [Position.from_moves(opening, STANDARD) for opening in openings]
    assert {len(opening) for opening in openings} == set(range(2, 9)) and all(map(is_quiet, positions))
    keys = {position.key for position in positions} | {position.mirror().key for position in positions}
    assert len(keys) == sum(1 + (position.mirror() != position) for position in positions)
    assert openings == list(islice(random_openings(STANDARD, seed=1), 300))
    assert openings != list(islice(random_openings(STANDARD, seed=2), 300))


def test_is_quiet():
    assert is_quiet(Position.from_moves((1, 1, 2, 2), SMALL)) is False  # either side completes three in the bottom row
    assert is_quiet(Position.from_moves((3, 3, 2, 2), STANDARD))
    assert is_quiet(Position.from_moves((3, 0, 3, 0, 3), STANDARD)) is False  # the side that is not to move could win


def test_balanced_openings_by_an_independent_solver():
    """On a small board: every length is there, every score is close, and asking for too many says so."""
    openings = balanced_openings(SMALL, 8, seed=1, score=exact_score, plies=(2, 5))
    scores = [exact_score(Position.from_moves(opening, SMALL)) for opening in openings]
    assert len(set(openings)) == 8 and max(map(abs, scores)) <= CLOSE
    assert {len(opening) for opening in openings} == {2, 3, 4, 5}
    with pytest.raises(ValueError, match="there are only"):
        balanced_openings(SMALL, 10_000, seed=1, score=exact_score, plies=(2, 3))


def test_our_balanced_openings():
    """300, all different also in the mirror, quiet, of 2 to 8 plies; half a dozen late ones are solved again."""
    openings = read_openings(BALANCED, STANDARD)
    positions = [Position.from_moves(opening, STANDARD) for opening in openings]
    assert len({min(p.key, p.mirror().key) for p in positions}) == len(openings) == 300
    assert all(map(is_quiet, positions)) and {p.ply for p in positions} == set(range(2, 9))
    solver = Solver(STANDARD)
    late = [position for position in positions if position.ply == 8][:6]
    assert all(abs(value.low) <= CLOSE and value.exact for value in solver.solve_many(late))


def test_openings_for(tmp_path):
    path = tmp_path / "openings.txt"
    path.write_text("\n".join("0123456"))
    assert sorted(openings_for(STANDARD, path, seed=1)) == [(column,) for column in range(7)]
    assert openings_for(STANDARD, path, seed=1) != openings_for(STANDARD, path, seed=2)
    assert len(set(openings_for(geometry_of(8, 8, 4), None, seed=1))) == DRAWN
    assert openings_for(geometry_of(1, 1, 1), None, seed=1) == [()]
