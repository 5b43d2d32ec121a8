"""Text that others wrote: lines end at line feeds alone, a byte order mark is none of it, # in JSON is no comment."""

import json

import pytest

from connectx_core.position import STANDARD, Position, key_of
from connectx_toolkit.arena.exam import AnswerFile
from connectx_toolkit.arena.start_positions import add_openings, read_openings
from connectx_toolkit.games.reader import text_lines
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.tuning.numbers import numbers_in

ENDS = ["\u2028", "\u2029", "\x85", "\x1c", "\x1d", "\x1e", "\x0b", "\x0c"]  # of lines to str.splitlines alone
BOARD = json.dumps({"board": [0] * 42, "why": "#1 of \u2028 all"}, ensure_ascii=False)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("3342 # why", "3342"),
        ("\ufeff3342", "3342"),
        (BOARD, BOARD),
        (f"{BOARD} # why", BOARD),
        ('["a#b", 3] # why', '["a#b", 3]'),
        ('"[3, 4] #"', '"[3, 4] #"'),
        ("{cut # why", "{cut"),
        ("[" * 100_000 + "# deep", "[" * 100_000),
    ],
    ids=str.split,
)
def test_a_comment_is_what_follows_a_sign_outside_of_json(line, text, tmp_path):
    path = tmp_path / "lines"
    path.write_text(f"{line}\n\n", encoding="utf-8")
    assert list(text_lines(path)) == [(1, text)]


@pytest.mark.parametrize("end", ENDS, ids=ascii)
def test_positions_are_added_to_lines_with_any_character(end, tmp_path):
    path = tmp_path / "mistakes.txt"
    path.write_text(f"\ufeff# of {end}a team\n33  # {end}me\n", encoding="utf-8")
    assert add_openings(path, [((3, 4), f"{end}them\nand all"), ((3, 3), "known")], STANDARD) == (1, 2)
    assert read_openings(path, STANDARD) == [(3, 3), (3, 4)]
    assert len(path.read_text(encoding="utf-8").split("\n")) == 4


@pytest.mark.parametrize("end", ENDS, ids=ascii)
def test_numbers_to_tune_are_found_by_pythons_lines(end):
    with pytest.raises(ValueError, match="the file, line 2: PLAY is not set"):
        numbers_in(f'TEXT = "{end}"\nPLAY = f()  # tune: 1 to 9\n')


GOOD = [3, 0.25, "", ""]
BAD = {
    "cut": "[1, 0, 3",
    "column 9": "[1, 0, 9, 0.25, '', '']",
    "column -2": "[1, 0, -2, 0.25, '', '']",
    "full column": "[1, FULL, 0, 0.25, '', '']",
    "infinite column": "[1, 0, 1e999, 0.25, '', '']",
    "infinite seed": "[1e999, 0, 3, 0.25, '', '']",
    "no number of seconds": "[1, 0, 3, NaN, '', '']",
    "negative seconds": "[1, 0, 3, -1, '', '']",
    "fewer": "[1, 0, 3]",
    "deep": "[" * 100_000,
    "a large key": "[1, 9223372036854775808, 3, 0.25, '', '']",
}


@pytest.mark.parametrize("bad", BAD)
def test_a_damaged_answer_is_asked_again(bad, tmp_path):
    spec, rules = resolve("leftmost"), Rules()
    path = AnswerFile(spec, rules, tmp_path).path
    assert path is not None
    full = Position.from_moves([0, 0, 0, 0, 0, 0], STANDARD)
    line = BAD[bad].replace("'", '"').replace("FULL", str(key_of(full.position, full.mask)))
    path.write_text(f"\n{json.dumps([2, 0, *GOOD])}\n{line}\n{json.dumps([1, 5, *GOOD])}\n")
    assert AnswerFile(spec, rules, tmp_path).known.keys() == {(2, 0), (1, 5)}
