"""Adds games to the file of games: of folders and replays, read one by one, and of files of version 0.3.

Version 0.3 had two files: stores of matches, and files of games of the ladder. Matches keep their keys of then, which
nothing asks for any more: the same match, asked for again, begins anew.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from connectx.position import parse_columns
from connectx_toolkit.games.database import GameDatabase, Row, now, scores_in
from connectx_toolkit.games.game import CUTS, Game
from connectx_toolkit.games.replay import replay_paths, replays_of
from connectx_toolkit.games.review import name_in, name_in_all
from connectx_toolkit.games.rows import check_calls, points_in, row_of, rules_of, without_points
from connectx_toolkit.games.schema import LADDER_GAMES, STORES, is_database, open_to_read
from connectx_toolkit.kaggle.rules import Rules, sizes_of
from connectx_toolkit.system.foreign import NothingLeft, from_json, integer, noting, number, text


class Taken(NamedTuple):
    """What was taken over from a file."""

    line: str
    left_out: int


def check_old(path: Path) -> None:
    """Raises ValueError if it is no file of version 0.3."""
    open_to_read(path, (*STORES, *LADDER_GAMES)).close()


def take_over(path: Path, database: GameDatabase) -> Taken:
    """Adds an old file's matches, games and scores. Why some were left out is noted in the database's ``left_out``."""
    before = len(database.left_out)
    with closing(open_to_read(path, (*STORES, *LADDER_GAMES))) as old:
        old.row_factory = sqlite3.Row
        (version,) = old.execute("PRAGMA user_version").fetchone()
        if version in STORES:
            rows, kept = _match_rows(old, path, database), 0
        else:
            rows, kept = _ladder_rows(old, version, path, database.left_out), _add_scores(old, path, database)
        words = f"{database.add_rows(rows)} games taken over" + (
            f", and {kept} scores of the leaderboard" if kept else ""
        )
    return Taken(f"{path}, a file of version 0.3: {words}", len(database.left_out) - before)


def _add_scores(old: sqlite3.Connection, path: Path, database: GameDatabase) -> int:
    """Adds the scores of the leaderboard; how many."""
    rows = old.execute("SELECT name, date, score FROM ratings ORDER BY name, date")
    found = scores_in(rows, path, database.left_out)
    for name, scores in found.items():
        for date, score in scores:
            database.add_scores({name: score}, date)
    return sum(map(len, found.values()))


def _match_rows(old: sqlite3.Connection, path: Path, database: GameDatabase) -> Iterator[tuple[Row, Game]]:
    """The games of a store, with their matches and conditions, which are added at once."""
    for match in old.execute("SELECT * FROM matches ORDER BY id").fetchall():
        agents = None
        with noting(database.left_out, f"{path}: match {match['id']}"):
            rules = rules_of(match["config"], match["overage"])
            agents = [text(from_json(match[seat])[2], "an agent") for seat in ("first", "second")]
        if agents is None:
            continue
        row = {name: match[name] for name in ("key", "first", "second", "config", "seed", "started")}
        ids = {"match": database.add_match(row | {"reserve": match["overage"]})}
        ids["conditions"] = database.conditions_id(match["conditions"])
        for game in old.execute("SELECT * FROM games WHERE match = ? ORDER BY number", [match["id"]]):
            with noting(database.left_out, f"{path}: game {game['number']!r:.40} of match {match['id']}"):
                index = integer(game["number"], "the number", 0)
                played = _played(game, rules, agents[::-1] if index % 2 else agents)
                own = {"number": index, "seeds": game["seeds"], "added": now()}
                yield row_of(played) | ids | own, played


def _played(row: sqlite3.Row, rules: Rules, names: Sequence[str]) -> Game:
    """The game of a store's row. Raises ValueError, and what else a damaged row may make Python raise."""
    ending, opening = from_json(row["ending"]), integer(row["opening"], "the opening", 0, len(row["moves"]))
    measured = [None] * opening + [number(one, "seconds of a call", 0.0) for one in from_json(row["seconds"])]
    record = {
        **({"cut": ending} if ending in CUTS else {}),
        "faults": from_json(row["faults"]),
        "act_timeout": rules.config["actTimeout"],
        "reserve": [rules.overage] * 2,
        "overage": _overage(rules, measured, [number(one, "overage time") for one in from_json(row["overages"])]),
        "measured": measured,
        "loads": from_json(row["loads"]),
    }
    own = {"first": names[0], "second": names[1], "date": row["finished"], "record": json.dumps(record)}
    columns = {"opening": opening, "moves": row["moves"], "episode": None, "submission": None}
    game = without_points({**sizes_of(rules.geometry), **columns, **own})
    if game.ending != ending:
        raise ValueError(f"its ending is {ending!r:.40}, but its moves and faults end with {game.ending!r}")
    check_calls(game)
    return game


def _overage(rules: Rules, measured: Sequence[float | None], last: Sequence[float]) -> list[float]:
    """Seconds of overage time left by ply, from the time of each call; at the end as the referee counted them."""
    left, found = [rules.overage] * 2, list[float]()
    for ply, seconds in enumerate(measured):
        left[ply % 2] -= max(0.0, (seconds or 0.0) - rules.config["actTimeout"])
        found.append(left[ply % 2])
    for ply in range(len(found))[-2:]:
        found[ply] = last[ply % 2]
    return found


def _ladder_rows(old: sqlite3.Connection, version: int, path: Path, left_out: list[str]) -> Iterator[tuple[Row, Game]]:
    """The games of a file of the ladder's games. Version 1 took a file's time for the date of its game."""
    for row in old.execute("SELECT * FROM games ORDER BY id"):
        with noting(left_out, f"{path}: game {row['key']!r:.40}"):
            is_dated = version > 1 or row["submission"] is not None
            game = _fetched({**row, "date": row["date"] or None if is_dated else None})
            digest = None if game.episode is not None else text(row["key"], "the key")
            yield row_of(game) | {"digest": digest, "owner": row["me"] or None, "added": now()}, game


def _fetched(row: dict[str, Any]) -> Game:
    """The game of a row. Raises ValueError, and what else a damaged row may make Python raise."""
    record = {
        "measured": from_json(row["seconds"]),
        "overage": from_json(row["overage"]),
        "reserve": from_json(row["overages"]),
        "ratings": [row["first_rating"], row["second_rating"]],
        "source": row.get("source", ""),
    }
    if row["failed"] is not None:
        record["faults"] = [[row["failed"], len(parse_columns(row["moves"])), row["fault"], "", True]]
    game, points = without_points({**row, "record": json.dumps(record)}), points_in(row["first_points"])
    if game.ending == "unfinished" and points is not None:
        game = replace(game, cut=row["fault"] if row["fault"] in CUTS else CUTS[0])
    if game.points != (None if points is None else (points, 1 - points)):
        raise ValueError(f"its first player has {points} points, but its moves and faults say {game.ending!r}")
    return game


class Added(NamedTuple):
    """What came of adding games."""

    new: int
    known: int  # that were there before, or that came twice
    whole: int  # games of the ladder that the file holds now
    left_out: list[str]  # why, of what is no game of ConnectX
    taken: list[str]  # what was taken over from each file of version 0.3, a line each


def add_from(path: Path, what: Sequence[str], me: str = "") -> Added:
    """Adds the games of folders, replays and files of version 0.3 to a file of games, which is made if there is none.

    They are read while they are added: what was added before an interruption stays.

    Raises:
        ValueError: there is nothing of that name, or the file of games is another file.
        NothingLeft: there is no game in all of it; the file of games is not touched.
    """
    read, left_out, paths = 0, list[str](), replay_paths(what)
    old = [one for one in paths if is_database(one)]
    for one in old:
        check_old(one)
    replays = chain.from_iterable(replays_of(one, left_out) for one in paths if one not in old)
    first = next(replays, None)
    if first is None and not old:
        raise NothingLeft(left_out)

    def counted() -> Iterator[Game]:
        nonlocal read
        for replay in chain([] if first is None else [first], replays):
            read += 1
            yield replay

    with GameDatabase(path) as database:
        taken = [take_over(one, database) for one in old]
        new = database.add(counted(), me)
        known = read - new - len(database.left_out) + sum(one.left_out for one in taken)
        return Added(new, known, len(database), [*left_out, *database.left_out], [one.line for one in taken])


def own_name(database: GameDatabase, wanted: str | None) -> str:
    """Whose games these are: as asked for, as said when they were added, or the one name in all of them.

    Raises:
        ValueError: that is not known; in words that say how to choose.
    """
    names, owners = database.names(), database.owners()
    if wanted is not None:
        return name_in(names, wanted)
    if owners:
        return owners.most_common(1)[0][0]
    return name_in_all(names, len(database))
