"""The file of games: every game of a match that was played here, and every game of the ladder.

Matches are added by ``connectx_toolkit.arena.store``. A game of the ladder is there once: Kaggle's number identifies
it, or else a digest of what happened in it.

A row has the columns that questions ask for, and in ``record`` every other field of a ``Game`` that is not its default.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Self

from connectx_core.position import Position, geometry_of, parse_columns, write_columns
from connectx_toolkit.games.game import Game, check_playable
from connectx_toolkit.kaggle.rules import DEFAULTS, Fault, sizes_of
from connectx_toolkit.system.console import as_option
from connectx_toolkit.system.files import file_lock, in_words
from connectx_toolkit.system.foreign import noting, printable

VERSION = 6
BUSY_SECONDS = 30.0  # how long to wait while another process writes, which takes milliseconds
GAMES_AT_ONCE = 200  # games in a transaction: what a kill loses at most
ORIGINS = {"ladder": "match IS NULL", "arena": "match IS NOT NULL", "all": "1"}
TABLES = """
CREATE TABLE IF NOT EXISTS matches (
    id INTEGER PRIMARY KEY, key TEXT UNIQUE,  -- digest of what determines the games
    first TEXT, second TEXT,  -- JSON: kind, target, label, fingerprint
    config TEXT, reserve REAL, seed INTEGER, started TEXT,
    openings TEXT);  -- where they come from; NULL where version 5 did not tell
CREATE TABLE IF NOT EXISTS games (
    id INTEGER PRIMARY KEY,
    episode INTEGER UNIQUE, digest TEXT UNIQUE,  -- Kaggle's number; of a game without one what happened in it
    match INTEGER REFERENCES matches, number INTEGER,  -- odd: the match's second agent moves first
    first TEXT, second TEXT, rows INTEGER, columns INTEGER, inarow INTEGER, opening INTEGER, moves TEXT,
    points REAL,  -- the first player's; NULL of a game that was not played to its end
    date TEXT, submission INTEGER, owner TEXT, source TEXT,
    conditions TEXT, seeds TEXT, record TEXT, UNIQUE (match, number));
"""
OTHER_TEXT = "moves GLOB '*[^0-9]*'"  # columns from 10 on, with commas, or nothing that is a game
RECORDED = ("geometry", "moves", "names", "opening", "date", "episode", "submission", "source")  # of a Game
CLOCK_FIELDS = ("act_timeout", "reserve")  # in every record: Kaggle may change its own
FIELD_DEFAULTS = {field.name: field.default for field in fields(Game)}
UPGRADE = f"""BEGIN IMMEDIATE; ALTER TABLE matches ADD COLUMN openings TEXT;
    UPDATE games SET record = json_remove(record, '$.ratings') WHERE json_valid(record);
    PRAGMA user_version = {VERSION}; COMMIT"""
LEARN = """ON CONFLICT DO UPDATE SET date = coalesce(excluded.date, date), source = coalesce(source, excluded.source),
    owner = coalesce(owner, excluded.owner), submission =
    CASE coalesce(owner, excluded.owner) WHEN excluded.owner THEN coalesce(submission, excluded.submission)
    ELSE submission END WHERE match IS NULL"""
Row = dict[str, Any]


class Played(NamedTuple):
    """What came of one move in a position."""

    column: int  # in a symmetric position, its mirror image counts here too
    games: int
    won: int  # by the player who made the move
    drawn: int
    lost: int  # won + drawn + lost fall short of ``games`` by those not played to their end
    players: tuple[tuple[str, int], ...]  # (name, games) of those who made it, most games first

    @property
    def points(self) -> float | None:
        """Mean points of the player who made the move; None if no game was played to its end."""
        ended = self.won + self.drawn + self.lost
        return (self.won + self.drawn / 2) / ended if ended else None


class StoredAgent(NamedTuple):
    """An agent of a match as the file has it."""

    kind: str
    target: str
    label: str
    fingerprint: str  # of its content; it tells agents with the same label apart


class StoredMatch(NamedTuple):
    """A match that has games."""

    agents: tuple[StoredAgent, StoredAgent]
    config: dict[str, Any]
    overage: float  # seconds of overage time
    seed: int
    openings: str  # where they come from; "" where that is not known
    games: dict[int, Game]  # by number; in odd ones the second agent moves first

    @property
    def title(self) -> str:
        """The configuration, the overage time, and where the openings come from."""
        config = self.config
        changed = {key: value for key, value in config.items() if DEFAULTS.get(key) != value}
        size = f"{config['columns']}x{config['rows']}, {config['inarow']} in a row, {self.overage:g} s overage time"
        more = [f"{key}={value}" for key, value in changed.items() if key not in ("rows", "columns", "inarow")]
        return ", ".join([size, *more, f"openings: {self.openings or 'not recorded'}"])


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database, as files of games are."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _upgrade(path: Path) -> None:
    """Brings a file of version 5 up to date. Where it cannot be written it stays as it is."""
    with contextlib.closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
        if connection.execute("PRAGMA user_version").fetchone() == (5,):
            with file_lock(path):
                if connection.execute("PRAGMA user_version").fetchone() == (5,):
                    connection.executescript(UPGRADE)


def _open_database(path: Path, create: bool) -> sqlite3.Connection:
    """A connection to a file of games. Raises ValueError if it is none, and what SQLite raises.

    On a read-only disk, such as a dataset on Kaggle, SQLite does not read what a killed run has left in a -wal file. So
    copies of both are read there.
    """
    if path.is_file():
        with contextlib.suppress(sqlite3.Error, OSError):  # what is wrong is said below
            _upgrade(path)
    if create:
        with file_lock(path):  # two processes may make it at once
            is_new = not path.exists()  # no other process makes it before the lock is released
            connection = sqlite3.connect(path, timeout=BUSY_SECONDS)
            try:
                _check_schema(connection, path, may_be_new=True)
                connection.executescript(f"PRAGMA journal_mode = WAL; {TABLES} PRAGMA user_version = {VERSION};")
            except sqlite3.Error:
                connection.close()
                if is_new:
                    path.unlink(missing_ok=True)
                raise
        connection.execute("PRAGMA synchronous = NORMAL")  # survives SIGKILL without waiting for the disk
        return connection
    if not path.exists():
        raise ValueError(f"no games yet: there is no {path}; match, tournament, episodes and explore --add make it")
    try:
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS)
        _check_schema(connection, path)
    except sqlite3.OperationalError:
        log = Path(f"{path}-wal")
        if log.exists() and log.stat().st_size:
            connection = sqlite3.connect(":memory:")
            with tempfile.TemporaryDirectory() as folder:
                for each in (path, log):
                    shutil.copy(each, folder)
                with contextlib.closing(sqlite3.connect(Path(folder, path.name))) as copied:
                    copied.backup(connection)
        else:
            connection = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
        _check_schema(connection, path)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _check_schema(connection: sqlite3.Connection, path: Path, may_be_new: bool = False) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not (tables >= {"matches", "games"} or (may_be_new and not tables)):
        raise ValueError(f"{path} is not a file of games")
    if tables and version != VERSION:
        versions = f"written by another version of the toolkit ({version}, this one reads {VERSION})"
        raise ValueError(f"{path}: {versions}; choose another file with {as_option('games')}")


def row_of(game: Game) -> Row:
    """The columns that follow from a game alone."""
    record = {name: getattr(game, name) for name in FIELD_DEFAULTS if name not in RECORDED}
    record = {name: value for name, value in record.items() if name in CLOCK_FIELDS or value != FIELD_DEFAULTS[name]}
    return {
        **sizes_of(game.geometry), "first": printable(game.names[0]), "second": printable(game.names[1]),
        "opening": game.opening, "moves": write_columns(game.moves), "points": game.points and game.points[0],
        "date": game.date, "episode": game.episode, "submission": game.submission,
        "source": absolute(game.source) if game.source else None, "record": json.dumps(record),
    }  # fmt: skip


def game_of(row: sqlite3.Row, path: Path) -> Game:
    """A row's game; of a match, its source is ``path`` with "3-12" after it: game 12 of match 3."""
    stored = json.loads(row["record"])
    record: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in stored.items()}
    faults = tuple(Fault(*fault) for fault in record.pop("faults", ()))
    source = row["source"] or "" if row["match"] is None else str(path / f"{row['match']}-{row['number'] + 1}")
    record |= {
        "geometry": geometry_of(row["rows"], row["columns"], row["inarow"]), "moves": parse_columns(row["moves"]),
        "names": (row["first"], row["second"]), "opening": row["opening"], "faults": faults, "date": row["date"],
        "episode": row["episode"], "submission": row["submission"], "source": source,
    }  # fmt: skip
    game = Game(**record)
    check_playable(game.moves, game.geometry)
    if (game.points and game.points[0]) != row["points"]:
        raise ValueError(f"its first player has {row['points']} points, but its moves and faults say {game.ending!r}")
    return game


def absolute(path: str) -> str:
    """A path as sources are stored."""
    return printable(os.path.abspath(path), None)


class GameDatabase:
    """The file of games. Use it in a ``with`` block.

    Args:
        create: make the file if there is none. False: only read it.
        origin: which games its questions are about: those of the "ladder", those of the "arena", which were played
            here in matches, or "all".

    Attributes:
        left_out: of games that could not be added or read, why.

    Raises:
        ValueError: the file is something else, or cannot be opened; at the end of the block: read, or written.
    """

    def __init__(self, path: Path, create: bool = True, origin: str = "ladder"):
        self.path, self.chosen, self.left_out = path, ORIGINS[origin], list[str]()
        try:
            self.connection = _open_database(path, create)
        except sqlite3.Error as problem:
            if not isinstance(problem, sqlite3.OperationalError):  # no SQLite file, or a damaged one
                raise ValueError(f"{path} is not a file of games: {problem}") from None
            raise ValueError(f"{path}: {problem}; choose another file with {as_option('games')}") from None
        except OSError as problem:
            raise ValueError(in_words(problem, path if problem.errno else None)) from None
        self.connection.row_factory = sqlite3.Row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, problem: object, trace: object) -> None:
        self.connection.close()
        if isinstance(problem, sqlite3.Error):
            raise ValueError(f"{self.path}: {problem}; what was stored before is there") from None

    def insert(self, table: str, row: Row, otherwise: str = "ON CONFLICT DO NOTHING") -> None:
        """Adds a row to a table. ``otherwise``: what to do if it is there, in SQL."""
        places = ", ".join(f":{name}" for name in row)
        self.connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places}) {otherwise}", row)

    # Matches

    def match_games(self, match: int) -> dict[int, Game]:
        """The games of a match by number."""
        by_number = dict[int, Game]()
        for row in self.connection.execute("SELECT * FROM games WHERE match = ? ORDER BY number", [match]):
            with noting(self.left_out, f"{self.path}: row {row['id']} of its games, number {row['number']}"):
                by_number[row["number"]] = game_of(row, self.path)
        return by_number

    def matches(self) -> Iterator[StoredMatch]:
        """Every match that has games, oldest first."""
        for row in self.connection.execute("SELECT * FROM matches ORDER BY id").fetchall():
            with noting(self.left_out, f"{self.path}: match {row['id']}"):
                if not (games := self.match_games(row["id"])):
                    continue
                first, second = (StoredAgent(*json.loads(row[seat])) for seat in ("first", "second"))
                config, overage, seed = json.loads(row["config"]), row["reserve"], row["seed"]
                yield StoredMatch((first, second), config, overage, seed, row["openings"] or "", games)

    # Games of the ladder

    def add(self, games: Iterable[Game], me: str = "", submission: int | None = None) -> int:
        """Adds games in batches; of those that are there already only what was not known is added. How many were new.

        Args:
            me: whose games these are; "" where that is not known.
            submission: Kaggle's number of the submission that "me" played with.
        """
        count = "SELECT count(*) FROM games"
        (before,) = self.connection.execute(count).fetchone()
        waiting = iter(games)
        while batch := [*islice(waiting, GAMES_AT_ONCE)]:
            with self.connection:
                for game in batch:
                    is_own = bool(me) and me in game.names
                    own = {"owner": me if is_own else None, "submission": submission if is_own else None}
                    digest = game.identity if game.episode is None else None
                    with noting(self.left_out, game.source):
                        self.insert("games", row_of(game) | own | {"digest": digest}, LEARN)
        return self.connection.execute(count).fetchone()[0] - before

    def remove(self, what: Sequence[str]) -> int:
        """Takes out games of the ladder by Kaggle's number, or all that were first read from a file or a folder.

        Returns:
            How many games.

        Raises:
            ValueError: one of them stands for no game; all stay.
        """
        with self.connection:
            return sum(map(self._remove, what))

    def _remove(self, what: str) -> int:
        if what.isdecimal() and not os.path.exists(what):
            which, value = "CAST(episode AS TEXT) = :v", what
        else:
            which, value = "source = :v OR substr(source, 1, length(:v) + 1) = :v || '/'", absolute(what)
        removed = self.connection.execute(f"DELETE FROM games WHERE match IS NULL AND ({which})", {"v": value}).rowcount
        if not removed:
            expected = "expected Kaggle's number of a game, or where games were added from"
            raise ValueError(f"{self.path} holds no game of {what}: {expected}")
        return removed

    # Questions

    def __len__(self) -> int:
        return self.connection.execute(f"SELECT count(*) FROM games WHERE {self.chosen}").fetchone()[0]

    def names(self) -> Counter[str]:
        """Games of each player; a game against itself counts once."""
        rows = self.connection.execute(f"SELECT first, second FROM games WHERE {self.chosen}")
        return Counter(chain.from_iterable({*row} for row in rows))

    def owners(self) -> Counter[str]:
        """Games of each player whose own they were said to be."""
        rows = self.connection.execute(f"SELECT owner FROM games WHERE owner NOT NULL AND {self.chosen}")
        return Counter(name for (name,) in rows)

    def games(self, opponent: str = "", me: str = "", seat: int | None = None, since: str = "") -> Iterator[Game]:
        """The games that fit all that is asked, in the order in which they were played: by Kaggle's number, if any.

        Args:
            opponent, me: players' names, exactly.
            seat: of "me", so that the opponent has the other one; it applies where one of both is named.
            since: date, or its beginning, from which on (ISO 8601).
        """
        where, values = self._where(opponent, me, seat, since)
        order = "episode IS NULL, episode, date, id"
        for row in self.connection.execute(f"SELECT * FROM games WHERE {where} ORDER BY {order}", values):
            with noting(self.left_out, f"{self.path}: row {row['id']} of its games"):
                yield game_of(row, self.path)

    def at(
        self, position: Position, opponent: str = "", me: str = "", seat: int | None = None, since: str = ""
    ) -> list[Played]:
        """What was played in a position or its mirror image, the most frequent move first. Args: as ``games``.

        A position of so many stones is met at that ply of a game only. Of the games whose columns are as high then, the
        first moves are played again; those that began alike are one row.
        """
        geometry, ply, last = position.geometry, position.ply, position.geometry.columns - 1
        mirror, columns = position.mirror(), range(last + 1)
        heights = [(position.mask & geometry.column_mask(column)).bit_count() for column in columns]
        results, players = defaultdict[int, Counter](Counter), defaultdict[int, Counter[str]](Counter)
        where, values = self._where(opponent, me, seat, since)
        board = " AND ".join(f"{name} = {size}" for name, size in sizes_of(geometry).items())
        is_high = f"({_has_heights(heights, ply)} OR {_has_heights(heights[::-1], ply)})"
        which = f"""SELECT CASE WHEN {OTHER_TEXT} THEN moves ELSE substr(moves, 1, {ply + 1}) END AS line, min(id),
            {"second" if ply % 2 else "first"} AS player, points, count(*) FROM games
            WHERE {where} AND {board} AND opening <= {ply} AND ({OTHER_TEXT} OR length(moves) > {ply} AND {is_high})
            GROUP BY line, player, points ORDER BY line"""
        for text, rows in groupby(self.connection.execute(which, values), itemgetter("line")):
            alike = [*rows]
            with noting(self.left_out, f"{self.path}: row {alike[0]['min(id)']} of its games"):
                moves = parse_columns(text)
                counts = [moves[:ply].count(column) for column in columns]
                if len(moves) <= ply or (counts != heights and counts[::-1] != heights):
                    continue
                if (met := Position.from_moves(moves[:ply], geometry)) not in (position, mirror):
                    continue
                column = moves[ply] if met == position else last - moves[ply]
                column = min(column, last - column) if position == mirror else column
                for *_, player, points, count in alike:
                    results[column][points if ply % 2 == 0 or points is None else 1 - points] += count
                    players[column][player] += count
        made = [
            Played(column, outcome.total(), outcome[1], outcome[0.5], outcome[0],
                   (*sorted(players[column].items(), key=lambda item: (-item[1], item[0])),))
            for column, outcome in results.items()
        ]  # fmt: skip
        return sorted(made, key=lambda one: (-one.games, one.column))

    def _where(self, opponent: str, me: str, seat: int | None, since: str) -> tuple[str, list[Any]]:
        """The condition for games that fit, in SQL, and its values; notes how many cannot be told apart by date."""
        seated, values = [], list[Any]()
        sides = [("first", "second"), ("second", "first")]
        for own, other in sides if seat is None else [sides[seat]]:
            asked = {f"{side} = ?": name for side, name in ((own, me), (other, opponent)) if name}
            seated.append(" AND ".join(asked) or "1")
            values += asked.values()
        where = f"{self.chosen} AND ({' OR '.join(seated)})" if values else self.chosen
        if not since:
            return where, values
        undated = f"SELECT count(*) FROM games WHERE {where} AND date IS NULL"
        (count,) = self.connection.execute(undated, values).fetchone()
        self.left_out[:0] = [f"{count} games of which no date is known (--since {since})"] if count else []
        return f"{where} AND date >= ?", [*values, since]


def _has_heights(heights: Sequence[int], ply: int) -> str:
    """The condition, in SQL, that the first moves of a game, which is written as digits, fill the columns so high."""
    others = f"length(replace(substr(moves, 1, {ply}), '%d', '')) = %d"
    return " AND ".join(others % (column, ply - height) for column, height in enumerate(heights) if height) or "1"


def now() -> str:
    """This moment as the file has times: ISO 8601, UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
