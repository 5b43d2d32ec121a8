"""A row of the file of games: the one place that writes a game into one and reads it again.

What filters and reports need has columns of its own; the rest lies in ``record``. Statuses, rewards and the ending are
derived from the game, and are not stored. Rows pass the door (``connectx_toolkit.system.foreign``) when they are read.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from connectx.position import Geometry, Position, parse_columns, write_columns
from connectx_toolkit.games.game import CUTS, Game, check_playable
from connectx_toolkit.kaggle.rules import STATUS_OF, Fault, Rules, sizes_of
from connectx_toolkit.system.foreign import from_json, integer, mapping, number, shown, text

SIZES = ("rows", "columns", "inarow")
DIGITS = 6  # of seconds that were measured
CLOCK = ("act_timeout", "reserve")  # always written: Kaggle may change its own


def row_of(game: Game) -> dict[str, Any]:
    """The columns of a game that follow from it alone."""
    values = {name: getattr(game, name) for name in FIELDS}
    record = {name: value for name, value in values.items() if name in CLOCK or value != FIELDS[name][0]}
    record |= {name: _rounded(record[name]) for name in ("measured", "loads") if record.get(name)}
    if "source" in record:
        record["source"] = absolute(record["source"])
    return {
        "episode": game.episode,
        "first": shown(game.names[0]),
        "second": shown(game.names[1]),
        **sizes_of(game.geometry),
        "opening": game.opening,
        "moves": write_columns(game.moves),
        "date": game.date,
        "submission": game.submission,
        "points": game.points and game.points[0],
        "record": json.dumps(record, separators=(",", ":")),
    }


def game_of(row: sqlite3.Row, path: Path) -> Game:
    """A row's game; of a match, its source is ``path`` with "3-12" after it. Raises as ``without_points``.

    Raises:
        ValueError: also where its points, or how many calls were timed, are not those of its moves and faults.
    """
    game, points = without_points(row), points_in(row["points"])
    if game.points != (None if points is None else (points, 1 - points)):
        raise ValueError(f"its first player has {points} points, but its moves and faults say {game.ending!r}")
    if row["match"] is None:
        return game
    check_calls(game)
    return replace(game, source=str(path / f"{row['match']}-{integer(row['number'], 'the number', 0) + 1}"))


def without_points(row: Mapping[str, Any] | sqlite3.Row) -> Game:
    """A row's game, from all of its columns but its points.

    Raises:
        ValueError: a column is not of its form; a damaged row may make Python raise other exceptions, too.
    """
    geometry, moves = Rules({name: row[name] for name in SIZES}).geometry, parse_columns(row["moves"])
    check_playable(moves, geometry)
    record = mapping(from_json(row["record"]), "the record")
    return Game(
        geometry,
        moves,
        (text(row["first"], "a player"), text(row["second"], "a player")),
        integer(row["opening"], "the opening", 0, len(moves)),
        date=None if row["date"] is None else text(row["date"], "the date"),
        episode=None if row["episode"] is None else integer(row["episode"], "Kaggle's number"),
        submission=None if row["submission"] is None else integer(row["submission"], "the submission"),
        **{name: FIELDS[name][1](value) for name, value in record.items()},
    )


def check_calls(game: Game) -> None:
    """Raises ValueError if not every call of a game that was played here was timed."""
    if len(game.measured) != (asked := len(game.moves) + (game.fault is not None)):
        timed = max(0, len(game.measured) - game.opening)
        raise ValueError(f"it has the times of {timed} calls, not of {asked - game.opening}")


def points_in(value: Any) -> float | None:
    """A player's points. Raises ValueError if they are none."""
    if value not in (None, 0.0, 0.5, 1.0):
        raise ValueError(f"points should be 0, 0.5 or 1, not {value!r:.40}")
    return value


def rules_of(config: Any, reserve: Any) -> Rules:
    """The configuration and overage time of a match's row. Raises ValueError if they are none."""
    found = mapping(from_json(config), "the configuration")
    if missing := [name for name in SIZES if name not in found]:
        raise ValueError(f"the configuration has no {missing[0]}")
    return Rules(found, number(reserve, "overage time", 0.0))


def absolute(path: str) -> str:
    """A path as sources are stored."""
    return shown(os.path.abspath(path), None)


def board_of(geometry: Geometry) -> str:
    """A board's size as text: 6x7k4."""
    return "{}x{}k{}".format(*geometry[:3])


def indexed(game: Game) -> Iterator[tuple[int | str, int, int]]:
    """Key, move and seat of each position in which a player chose a move, as the table of positions has them."""
    last = game.geometry.columns - 1
    position = mirror = Position.empty(game.geometry)
    for ply, column in enumerate(game.moves):
        if ply >= game.opening:
            key, mirrored = position.key, mirror.key
            move = column if key < mirrored else last - column if mirrored < key else min(column, last - column)
            yield key_of(min(key, mirrored)), move, ply % 2
        position, mirror = position.play(column), mirror.play(last - column)


def key_of(key: int) -> int | str:
    """A position's key as SQLite holds it, whose integers have 64 bits with a sign."""
    return key if key < 1 << 63 else str(key)


def _rounded(times: Sequence[float | None]) -> list[float | None]:
    return [None if seconds is None else round(seconds, DIGITS) for seconds in times]


def _faults(values: Any) -> tuple[Fault, ...]:
    return tuple(_fault(*fault) for fault in values)


def _fault(seat: Any, ply: Any, kind: Any, detail: Any, fatal: Any) -> Fault:
    if kind not in STATUS_OF:
        raise ValueError(f"there is no fault {kind!r:.40}")
    lines = "\n".join(map(shown, str(detail).split("\n")))
    return Fault(integer(seat, "a seat", 0, 1), integer(ply, "a ply", 0), kind, lines, bool(fatal))


def _cut(value: Any) -> str:
    if value not in CUTS:
        raise ValueError(f"a cut should be one of {', '.join(CUTS)}, not {value!r:.40}")
    return value


def _times(name: str) -> Callable[[Any], tuple[float, ...]]:
    return lambda values: tuple(number(one, name) for one in values)


def _known_times(name: str) -> Callable[[Any], tuple[float | None, ...]]:
    return lambda values: tuple(None if one is None else number(one, name) for one in values)


def _two(read: Callable[[Any], tuple[Any, ...]], name: str) -> Callable[[Any], tuple[Any, Any]]:
    """Two values, by seat."""

    def two(values: Any) -> tuple[Any, Any]:
        if len(found := read(values)) != 2:
            raise ValueError(f"expected {name} of two players, not of {len(found)}")
        return found[0], found[1]

    return two


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


_DEFAULTS = Game(Rules().geometry, ())
FIELDS: dict[str, tuple[Any, Callable[[Any], Any]]] = {  # of a Game, in the record: what they are by default, reader
    "cut": (_DEFAULTS.cut, _cut),
    "faults": (_DEFAULTS.faults, _faults),
    "act_timeout": (_DEFAULTS.act_timeout, lambda value: number(value, "actTimeout", 0.0)),
    "reserve": (_DEFAULTS.reserve, _optional(_two(_times("seconds of overage time"), "the overage time"))),
    "overage": (_DEFAULTS.overage, _times("seconds of overage time")),
    "measured": (_DEFAULTS.measured, _known_times("seconds of a call")),
    "loads": (_DEFAULTS.loads, _optional(_two(_times("seconds of a load"), "the load"))),
    "ratings": (_DEFAULTS.ratings, _two(_known_times("a rating"), "the rating")),
    "source": (_DEFAULTS.source, lambda value: text(value, "the source")),
}
