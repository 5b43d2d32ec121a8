"""Recognises what a text or a JSON value from outside is: a game's columns, a board, cells, or something else, by name.

All readers of games and positions ask here, so that no message points to a command which refuses the same text.
"""

import contextlib
import re
from typing import Any

from connectx_core.position import STANDARD
from connectx_toolkit.system.console import command
from connectx_toolkit.system.foreign import from_json

LINK = re.compile(r"\S+[?&]pos=([1-9]*)\S*")  # of connect4.gamesolver.org: columns from 1
SCORED = re.compile(r"([1-7]*)((\s+-?\d+)+)")  # "moves score", columns from 1, as in Pons' files
COLUMNS_ONE_BY_ONE = re.compile(r"\d(\s+\d)+")  # columns one by one: 3 3 4 2
ROW_OF_CELLS = re.compile(rf"([xob],){{{STANDARD.cells}}}\w+")  # of the UCI: columns from the left, each upwards
LINE_OF_NAMES = re.compile(r"[\w ]*[A-Za-z][\w ]*([,;\t][\w ]+)+")  # a line of a table that names its columns
DRAWN = re.compile(r"([xo.]{3,}\n)+[xo.]{3,}", re.IGNORECASE)  # OpenSpiel's text of a state
# What is neither a game nor a position, by how it begins.
NO_GAMES = {
    "[[{'": "Python's text of env.steps, not JSON: save json.dumps(env.toJSON())",
    "+--": "a drawing of the board, which does not tell the moves: save json.dumps(env.toJSON())",
    "SQLite format 3": "a file of games, not a replay",
    "<": 'a page without a replay; env.render(mode="html") has one',
}


def is_columns(text: str) -> bool:
    """Whether a text has the form of a game's columns: digits, with or without commas and spaces; or of a link."""
    return bool(LINK.fullmatch(text.strip())) or "".join(text.split()).replace(",", "").isdecimal()


def is_board(value: Any) -> bool:
    """Whether a JSON value is Kaggle's ``board`` of 7x6."""
    return isinstance(value, list) and len(value) == STANDARD.cells and all(cell in (0, 1, 2) for cell in value)


def is_game(value: Any) -> bool:
    """Whether a JSON value is a list of columns."""
    return isinstance(value, list) and bool(value) and all(type(one) is int for one in value) and not is_board(value)


def is_position(line: str) -> bool:
    """Whether a line tells a position and no game: columns with a score, a board, or cells."""
    scored = SCORED.fullmatch(line) and not COLUMNS_ONE_BY_ONE.fullmatch(line)
    if line.startswith("{"):
        with contextlib.suppress(ValueError):
            return isinstance(found := from_json(line), dict) and "board" in found
    return bool(scored or ROW_OF_CELLS.fullmatch(line))


def of_positions(what: str) -> ValueError:
    """That something is positions, and which command takes it."""
    how = command("evaluate exam AGENT --positions FILE", "exam(AGENT, positions=FILE)")
    return ValueError(f"it is {what}, not a replay: {how} asks an agent about that")


def name_of(text: str) -> str:
    """What a text is that holds neither games nor positions, after "it is"."""
    if known := next((kind for start, kind in NO_GAMES.items() if text.startswith(start)), ""):
        return known
    if "\0" in text[:1000] or "\ufffd" in text[:1000]:
        return "binary: neither a text nor an archive"
    if DRAWN.match(text):
        return "a drawing of the board, which does not tell the moves: give columns, such as 3342"
    if LINE_OF_NAMES.fullmatch(first := text.partition("\n")[0].strip()):
        return f"a table whose first line names its columns ({first:.40}): leave that out, and all but the moves"
    return "not JSON"
