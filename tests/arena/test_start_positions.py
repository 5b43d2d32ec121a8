"""Openings: text, recipe, variety."""

import random
from collections import Counter
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from connectx_core import books
from connectx_core.position import STANDARD, Position, geometry_of, parse_columns, write_columns
from connectx_core.solver import Solver
from connectx_toolkit.arena.start_positions import (
    BALANCED_SEED,
    RANDOM_COUNT,
    balanced_openings,
    is_quiet,
    openings_for,
    random_openings,
    read_balanced,
    read_openings,
)

SMALL = geometry_of(4, 3, 3)


@cache
def exact_score(position: Position) -> int:
    """Plain negamax: good for boards of 12 cells."""
    if position.is_full():
        return 0
    if position.winning_columns():
        return (position.geometry.cells + 1 - position.ply) // 2
    return max(-exact_score(position.play(column)) for column in position.legal_columns())


@pytest.mark.parametrize("moves", [(), (9,), (10,), (1, 0), (11, 9), (0, 10, 10)])
def test_text_stands_for_one_sequence_of_moves(moves):
    assert parse_columns(write_columns(moves)) == moves


@pytest.mark.parametrize("text", [",", "3,,4", "3 4", "x"])
def test_text_that_is_no_columns(text):
    with pytest.raises(ValueError, match="expected columns such as"):
        parse_columns(text)


def test_an_opening_that_cannot_be_played_is_refused_with_its_line(tmp_path):
    path = tmp_path / "my.txt"
    for text, problem in (("0101010", "the game is over after it"), ("3a", "expected columns such as 3342")):
        path.write_text(f"# mine\n33\n\n{text} # a remark\n")
        with pytest.raises(ValueError, match=f"^openings: .*my.txt, line 4: '{text}': {problem}"):
            read_openings(path, STANDARD)


def test_read_openings(tmp_path, capsys):
    path = tmp_path / "openings.txt"
    path.write_text("# three of them\n33\n\n3324 # a remark\n010101\n")  # after the last, the next stone can win
    assert read_openings(path, STANDARD) == [(3, 3), (3, 3, 2, 4), (0, 1, 0, 1, 0, 1)]
    assert capsys.readouterr().err == ""
    path.write_text("# none\n")
    with pytest.raises(ValueError, match="holds none"):
        read_openings(path, STANDARD)
    with pytest.raises(ValueError, match=r"openings: .*missing: no such file"):
        read_openings(tmp_path / "missing", STANDARD)
    path.write_bytes(b"\xff33\n")
    with pytest.raises(ValueError, match=r"openings: .*openings\.txt is not text"):
        read_openings(path, STANDARD)


def test_repeated_openings_of_a_file_count_once(tmp_path, capsys):
    path = tmp_path / "openings.txt"
    path.write_text("324\n\n# again, mirrored, in another order, both\n324\n342\n423\n243 # both\n0\n33\n6\n")
    assert read_openings(path, STANDARD) == [(3, 2, 4), (0,), (3, 3)]
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"{path}: 5 of 8 openings left out, repeated or mirrored from an earlier line (first: line 4)"]


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
    """On a small board: every length is there, every opening is drawn, and asking for too many says so."""

    def is_drawn(position):
        return exact_score(position) == 0

    openings = balanced_openings(SMALL, 8, seed=1, is_drawn=is_drawn, plies=(2, 5))
    assert len(set(openings)) == 8 and all(is_drawn(Position.from_moves(opening, SMALL)) for opening in openings)
    assert {len(opening) for opening in openings} == {2, 3, 4, 5}
    with pytest.raises(ValueError, match="there are only"):
        balanced_openings(SMALL, 10_000, seed=1, is_drawn=is_drawn, plies=(2, 3))


def test_our_openings_are_many_distinct_and_quiet():
    """5,000 by position, mirror images counted once, as evenly over 4 to 10 plies as there are drawn positions."""
    openings = read_balanced()
    positions = [Position.from_moves(opening, STANDARD) for opening in openings]
    assert len({position.canonical().key for position in positions}) == len(openings) == 5000
    assert all(map(is_quiet, positions))
    lengths = Counter(map(len, openings))
    assert set(lengths) == set(range(4, 11))
    assert lengths[4] == 101 and lengths[5] == 320  # every quiet drawn position there is
    assert min(lengths[plies] for plies in range(6, 11)) > 900


def test_our_openings_are_drawn():
    """A sample: up to ply 8 by the table, later ones by the solver, which takes 7 ms (ply 10) or 23 ms (ply 9) each."""
    positions = [Position.from_moves(opening, STANDARD) for opening in random.Random(1).sample(read_balanced(), 350)]
    early = [position for position in positions if position.ply <= books.LAST_PLY]
    late = [position for position in positions if position.ply > books.LAST_PLY][:20]
    assert len(early) >= 200 and all(books.opening_score(position) == 0 for position in early)
    assert {position.ply for position in late} == {9, 10}
    solver = Solver(STANDARD)
    assert all(solver.solve(position, weak=True).result == 0 for position in late)


def test_our_openings_are_what_the_recipe_makes():
    few = balanced_openings(
        STANDARD, 100, BALANCED_SEED, lambda position: books.opening_score(position) == 0, plies=(4, 8)
    )
    assert set(few) <= set(read_balanced())


def test_openings_for(tmp_path):
    path = tmp_path / "openings.txt"
    path.write_text("0\n1\n2\n3\n33\n34\n")
    assert sorted(openings_for(STANDARD, path, seed=1)) == [(0,), (1,), (2,), (3,), (3, 3), (3, 4)]
    assert openings_for(STANDARD, path, seed=1) != openings_for(STANDARD, path, seed=2)
    assert len(set(openings_for(geometry_of(8, 8, 4), None, seed=1))) == RANDOM_COUNT
    assert openings_for(geometry_of(1, 1, 1), None, seed=1) == [()]


def test_the_empty_board_alone():
    assert openings_for(STANDARD, Path("empty"), seed=1) == [()]
