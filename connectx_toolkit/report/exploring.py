"""What was played in a position: how often, by whom and how it ended, beside the exact score of each move."""

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from connectx.position import Position, write_columns
from connectx_toolkit.games.analysis import exact_scores
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.owner import name_in
from connectx_toolkit.games.reader import add_from, own_name, parse_moves
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.report.tables import played_table
from connectx_toolkit.system.console import as_option
from connectx_toolkit.system.foreign import NothingLeft, left_out_lines
from connectx_toolkit.system.table import Part, Told

DAY = re.compile(r"\d{4}(-\d\d){0,2}", re.ASCII)
SEAT = {"first": 0, "second": 1, None: None}


def explored(
    moves: Sequence[str],
    *,
    from_one: bool,
    config: dict | None,
    games: Path,
    origin: str,
    add: Sequence[str],
    remove: Sequence[str],
    me: str | None,
    opponent: str | None,
    seat: str | None,
    rating: Sequence[float] | None,
    since: str | None,
    seconds: float,
) -> Told:
    """See ``connectx_toolkit.api.explore``."""
    geometry = Rules(config or {}).geometry
    columns = parse_moves(" ".join(moves), geometry, from_one)
    position = Position.from_moves(columns, geometry)
    if rating and not rating[0] <= rating[1]:
        raise ValueError(f"{as_option('rating')} takes the lower score first, not {rating[0]:g} {rating[1]:g}")
    if since and not _is_day(since):
        raise ValueError(f"{as_option('since')} takes a date such as 2026-11-30 or 2026-11, not {since!r}")
    told = [_remove(games, remove)] if remove else []
    database, more = _opened(games, origin, add, me, is_allowed_empty=bool(remove))
    told += more
    with database:
        name = name_in(database.names(), opponent, as_option("opponent")) if opponent else ""
        own = own_name(database, me) if me or seat or rating else ""
        played = database.at(position, name, own, SEAT[seat], since or "", (rating[0], rating[1]) if rating else None)
    after = write_columns(columns) or "the empty board"
    scores = None if position.is_over() else _scores(position, seconds)
    if not played:
        told.append(f"no game that fits went on from here: {after}")
    told.append(played_table(f"after {after}: {_to_move(position)}", position, played, scores))
    return Told([*told, *left_out_lines(database.left_out)])


def _remove(path: Path, what: Sequence[str]) -> Part:
    """Takes games out of the file; nothing of it if there is none of one of them."""
    with GameDatabase(path, create=False):  # else a file would be made
        pass
    with GameDatabase(path) as database:
        removed = database.remove(what)
        return f"{path}: {removed} games removed, {len(database)} in all"


def _opened(
    path: Path, origin: str, add: Sequence[str], me: str | None, is_allowed_empty: bool
) -> tuple[GameDatabase, list[Part]]:
    """The file of games, after adding to it what ``add`` names; and what was added.

    Raises:
        ValueError: there is no file and nothing to add, or it is another file.
        NothingLeft: of what was to be added.
    """
    left_out, told = list[str](), list[Part]()
    if add:
        added = add_from(path, add, me or "")
        there = f", {added.known} {'copy' if added.known == 1 else 'copies'} left out" if added.known else ""
        told.append(f"{path}: {added.new} games added{there}, {added.whole} in all")
        left_out = added.left_out
    database = GameDatabase(path, create=False, origin=origin)
    database.left_out += left_out
    if not len(database) and not is_allowed_empty:
        if left_out:
            raise NothingLeft(left_out)
        more = f"{as_option('add')} takes replays; {as_option('origin')} says which games count"
        raise ValueError(f"{path}: no {origin} games yet; {more}")
    if add and not me:
        try:
            own_name(database, None)
        except ValueError as unclear:
            told.append(f"whose games these are is not known yet: {unclear}")
    return database, told


def _is_day(text: str) -> bool:
    """Whether it is a date, or the beginning of one."""
    try:
        date.fromisoformat(text + "-01" * (2 - text.count("-")))
    except ValueError:
        return False
    return bool(DAY.fullmatch(text))


def _scores(position: Position, seconds: float) -> Sequence[int | None] | None:
    """The exact scores of a position's moves, if they are found in time."""
    if not position.geometry.fits_word:
        return None
    return exact_scores(position, seconds)


def _to_move(position: Position) -> str:
    if position.is_over():
        return "the game is over"
    return f"the {'second' if position.ply % 2 else 'first'} player is to move"
