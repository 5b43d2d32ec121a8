"""What was played in a position: how often, by whom and how it ended, and the exact score of each move."""

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from connectx_core.clock import Budget
from connectx_core.exact import exact_scores
from connectx_core.position import Position, Scores
from connectx_toolkit.games.analysis import solvers_for
from connectx_toolkit.games.database import GameDatabase, Played
from connectx_toolkit.games.owner import find_player
from connectx_toolkit.games.reader import add_replays, owner_of, parse_moves
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.system.console import as_option
from connectx_toolkit.system.foreign import NothingLeft

DAY = re.compile(r"\d{4}(-\d\d){0,2}", re.ASCII)
SEAT = {"first": 0, "second": 1, None: None}


class Explored(NamedTuple):
    """What was played in a position."""

    columns: tuple[int, ...]  # that lead there
    position: Position
    played: list[Played]
    scores: Scores | None  # of the moves, if they are known
    notes: list[str]  # of what was added and removed
    left_out: list[str]  # why, of games that cannot be read or did not fit


def explore_position(
    moves: Sequence[str], from_one: bool, config: dict | None, games: Path, origin: str, add: Sequence[str],
    remove: Sequence[str], me: str | None, opponent: str | None, seat: str | None, since: str | None, seconds: float,
) -> Explored:  # fmt: skip
    """See ``connectx_toolkit.api.explore``."""
    geometry = Rules(config or {}).geometry
    columns = parse_moves(" ".join(moves), geometry, from_one)
    position = Position.from_moves(columns, geometry)
    if since and not _is_day(since):
        raise ValueError(f"{as_option('since')} takes a date such as 2026-11-30 or 2026-11, not {since!r}")
    notes, left_out = _update(games, add, remove, me)
    with GameDatabase(games, create=False, origin=origin) as database:
        database.left_out += left_out
        if not len(database) and not remove:
            more = f"{as_option('add')} takes replays; {as_option('origin')} says which games count"
            raise NothingLeft(left_out) if left_out else ValueError(f"{games}: no {origin} games yet; {more}")
        if add and not me:
            try:
                owner_of(database, None)
            except ValueError as unclear:
                notes.append(f"whose games these are is not known yet: {unclear}")
        name = find_player(database.names(), opponent, as_option("opponent")) if opponent else ""
        own = owner_of(database, me) if me or seat else ""
        played = database.at(position, name, own, SEAT[seat], since or "")
    scores = None
    if position.geometry.fits_word and not position.is_over():
        with solvers_for(position.geometry) as (solver, *_):
            scores = exact_scores(position, solver, Budget.seconds(seconds))
    return Explored(columns, position, played, scores, notes, database.left_out)


def _update(path: Path, add: Sequence[str], remove: Sequence[str], me: str | None) -> tuple[list[str], list[str]]:
    """Takes games out of the file, then adds others: what was done, and why others were left out.

    Raises:
        ValueError: there is no file and nothing to add, or it is another file, or holds none of one that should go.
        NothingLeft: of what was to be added.
    """
    notes = list[str]()
    if remove:
        with GameDatabase(path, create=False):  # else a file would be made
            pass
        with GameDatabase(path) as database:
            notes.append(f"{path}: {database.remove(remove)} games removed, {len(database)} in all")
    if not add:
        return notes, []
    added = add_replays(path, add, me or "")
    there = f", {added.known} {'copy' if added.known == 1 else 'copies'} left out" if added.known else ""
    return [*notes, f"{path}: {added.new} games added{there}, {added.whole} in all"], added.left_out


def _is_day(text: str) -> bool:
    """Whether it is a date, or the beginning of one."""
    try:
        date.fromisoformat(text + "-01" * (2 - text.count("-")))
    except ValueError:
        return False
    return bool(DAY.fullmatch(text))
