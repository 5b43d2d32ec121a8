"""Games of the ladder in one SQLite file: who played whom, every move with its clocks, and every position.

A game is there once, whatever the names of its files: Kaggle's episode number identifies it, or else a digest of what
happened in it. Positions are found by the key of ``Position.canonical()``, so that mirror images are one position.
Teams' scores on Kaggle's leaderboard are kept with the date on which they were fetched. What is not known is
not made up: a date is Kaggle's, or it is "". Rows pass the door (``connectx_toolkit.foreign``) when they are read.
"""

import bisect
import contextlib
import json
import os
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from connectx.notation import parse_columns, write_columns
from connectx.position import Position
from connectx_toolkit.arena.results.records import CUTS, Game, check_playable
from connectx_toolkit.arena.results.schema import Schema, in_words, open_to_read, open_to_write
from connectx_toolkit.foreign import decoded, from_json, integer, noting, number, shown, text
from connectx_toolkit.kaggle.rules import FAMILIES, Fault, Rules, sizes_of

Value = TypeVar("Value")

BATCH = 200  # games in a transaction: what a kill loses at most
TABLES = """
CREATE TABLE games (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
    first TEXT NOT NULL, second TEXT NOT NULL, date TEXT NOT NULL,
    rows INTEGER NOT NULL, columns INTEGER NOT NULL, inarow INTEGER NOT NULL,
    first_points REAL,  -- NULL of a game that was not played to its end
    episode INTEGER, first_rating REAL, second_rating REAL,
    me TEXT NOT NULL, submission INTEGER,
    winner INTEGER, failed INTEGER, fault TEXT NOT NULL,  -- where nobody failed, what cut the game
    opening INTEGER NOT NULL, moves TEXT NOT NULL,
    seconds TEXT NOT NULL, overage TEXT NOT NULL, banks TEXT NOT NULL,
    source TEXT NOT NULL DEFAULT ''  -- the absolute path of the file or store that it was first read from
);
CREATE TABLE positions (
    key NOT NULL,  -- of Position.canonical(), as text where it has more than 63 bits
    game INTEGER NOT NULL REFERENCES games,
    move INTEGER NOT NULL,  -- column on the canonical side, the smaller one of a symmetric position
    PRIMARY KEY (key, game)
) WITHOUT ROWID;
CREATE TABLE ratings (
    name TEXT NOT NULL, date TEXT NOT NULL, score REAL NOT NULL, PRIMARY KEY (name, date)
) WITHOUT ROWID
"""
SIZES = ("rows", "columns", "inarow")
LEARN = """
UPDATE games SET date = CASE WHEN :date != '' THEN :date ELSE date END,
    source = CASE WHEN source = '' THEN :source ELSE source END,
    first_rating = coalesce(first_rating, :first_rating), second_rating = coalesce(second_rating, :second_rating)
WHERE key = :key
"""
OWN = """
UPDATE games SET me = :me, submission = :submission
WHERE key = :key AND :me != '' AND (me = '' OR me = :me AND submission IS NULL)
"""
FROM = "(source = :source OR substr(source, 1, length(:source) + 1) = :source || '/')"
DATED_BY_FILES = """
ALTER TABLE games ADD COLUMN source TEXT NOT NULL DEFAULT '';
UPDATE games SET date = '' WHERE submission IS NULL  -- version 1 took a file's time for the date of its game
"""
SCHEMA = Schema(
    2,
    TABLES,
    frozenset({"games", "positions", "ratings"}),
    "a file of games",
    "no games were added yet (--add FOLDER adds replays): there is no file",
    "--games",
    {1: DATED_BY_FILES},
)


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


class GameDatabase:
    """An SQLite file of games. Use it in a ``with`` block.

    Args:
        create: make the file if there is none. False: only read it, which changes nothing, unless it is to be upgraded.

    Attributes:
        left_out: why replays were not added, and rows are not among what was read.

    Raises:
        ValueError: the file is something else, of a schema that this version cannot read, or cannot be written or
            read; at the end of the block: it is damaged or could not be written.
    """

    def __init__(self, path: Path, create: bool = True):
        self.path = path
        self.aim = "written" if create else "read"
        self.connection = open_to_write(path, SCHEMA) if create else open_to_read(path, SCHEMA)
        self.connection.row_factory = sqlite3.Row
        self.connection.create_function("shown", 1, lambda name: shown(decoded(name)), deterministic=True)
        self.left_out: list[str] = []

    def __enter__(self) -> "GameDatabase":
        return self

    def __exit__(self, kind: object, problem: object, trace: object) -> None:
        with contextlib.suppress(sqlite3.Error):  # closing writes, too
            self.connection.close()
        if isinstance(problem, sqlite3.Error):  # damaged, or the disk is full
            raise ValueError(in_words(self.path, problem, SCHEMA, self.aim)) from None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def add(self, games: Iterable[Game], me: str = "", submission: int | None = None) -> int:
        """Adds games in batches; those that are there already stay as they are, but for what was not known of them.

        A game that was added before without ``me`` is taken to be theirs from now on.

        Args:
            me: whose games these are; "" where that is not known.
            submission: Kaggle's number of the submission that "me" played with.

        Returns:
            How many were new.
        """
        added, waiting = 0, iter(games)
        while batch := list(islice(waiting, BATCH)):
            with self._transaction():
                for game in batch:
                    added += self._add(game, me if me in game.names else "", submission)
        return added

    def _add(self, game: Game, me: str, submission: int | None) -> bool:
        prepared = None
        with noting(self.left_out, game.source):
            owner = {"me": me, "submission": submission if me else None}
            prepared = _row(game) | owner, [*_indexed(game)]
        return prepared is not None and self._insert(*prepared)

    def _insert(self, row: dict[str, Any], moves: list[tuple[int | str, int]]) -> bool:
        places = ", ".join(f":{name}" for name in row)
        cursor = self.connection.execute(f"INSERT OR IGNORE INTO games ({', '.join(row)}) VALUES ({places})", row)
        if not cursor.rowcount:
            self.connection.execute(LEARN, row)
            self.connection.execute(OWN, row)
            return False
        indexed = ((key, cursor.lastrowid, move) for key, move in moves)
        self.connection.executemany("INSERT OR IGNORE INTO positions VALUES (?, ?, ?)", indexed)
        return True

    def remove(self, what: Sequence[str]) -> int:
        """Takes out games by Kaggle's number, or all that were first read from a file, a store or a folder.

        Returns:
            How many games.

        Raises:
            ValueError: one of them stands for no game; all stay.
        """
        with self._transaction():
            return sum(map(self._remove, what))

    def _remove(self, what: str) -> int:
        chosen, values = FROM, dict[str, str | int](source=_source(what))
        if what.isdecimal() and not os.path.exists(what):
            chosen, values = "episode = :source", {"source": integer(int(what), "a game's number")}
        ids = f"SELECT id FROM games WHERE {chosen}"
        self.connection.execute(f"DELETE FROM positions WHERE game IN ({ids})", values)
        removed = self.connection.execute(f"DELETE FROM games WHERE {chosen}", values).rowcount
        if not removed:
            expected = "expected Kaggle's number of a game, or where games were added from"
            raise ValueError(f"{self.path} holds no game of {what}: {expected}")
        return removed

    def add_ratings(self, scores: Mapping[str, float], date: str) -> None:
        """Keeps teams' scores on the leaderboard of a day. ``date``: ISO 8601."""
        with self._transaction():
            rows = [(name, date, score) for name, score in scores.items()]
            self.connection.executemany("INSERT OR REPLACE INTO ratings VALUES (?, ?, ?)", rows)

    def ratings(self) -> dict[str, list[tuple[str, float]]]:
        """The scores that were kept of each team, (date, score), by date."""
        found: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for name, date, score in self.connection.execute("SELECT name, date, score FROM ratings ORDER BY name, date"):
            with noting(self.left_out, f"{self.path}: a score of {name!r:.40}"):
                found[text(name, "its name")].append((text(date, "its date"), number(score, "it")))
        return dict(found)

    def __len__(self) -> int:
        (count,) = self.connection.execute("SELECT count(*) FROM games").fetchone()
        return count

    def names(self) -> Counter[str]:
        """Games of each player; a game against itself counts once."""
        rows = self.connection.execute("SELECT first, second FROM games")
        return Counter(shown(name) for row in rows for name in {*row} if isinstance(name, str))

    def owners(self) -> Counter[str]:
        """Games of each player whose own they were said to be."""
        rows = self.connection.execute("SELECT me FROM games WHERE me != ''")
        return Counter(shown(name) for (name,) in rows if isinstance(name, str))

    def games(
        self,
        opponent: str = "",
        me: str = "",
        seat: int | None = None,
        since: str = "",
        rated: tuple[float, float] | None = None,
    ) -> Iterator[Game]:
        """The games that fit all that is asked, in the order in which they were played: by Kaggle's number, if any.

        Args:
            opponent: a player's name, exactly.
            me: another player's name, exactly.
            seat: of "me", so that the opponent has the other one; it applies where one of both is named.
            since: date, or its beginning, from which on (ISO 8601).
            rated: lowest and highest rating of the opponent, the latest kept one; without ``me``, of either player.
        """
        where, values = self._where(opponent, me, seat, since, rated)
        kept, order = self.ratings(), "episode IS NULL, episode, date, id"
        for row in self.connection.execute(f"SELECT * FROM games WHERE {where} ORDER BY {order}", values):
            with noting(self.left_out, f"{self.path}: game {row['key']!r:.40}"):
                yield _game(row, kept)

    def at(
        self,
        position: Position,
        opponent: str = "",
        me: str = "",
        seat: int | None = None,
        since: str = "",
        rated: tuple[float, float] | None = None,
    ) -> list[Played]:
        """What was played in a position or its mirror image, the most frequent move first.

        Args: as ``games``.
        """
        where, values = self._where(opponent, me, seat, since, rated)
        geometry, canonical = position.geometry, position.canonical()
        mover, points = ("second", "1 - first_points") if position.ply % 2 else ("first", "first_points")
        rows = self.connection.execute(
            f"SELECT move, {mover} AS player, {points} AS points, count(*) AS games FROM positions AS found "
            "JOIN games ON games.id = found.game WHERE found.key = ? AND rows = ? AND columns = ? AND inarow = ? "
            f"AND {where} GROUP BY move, player, points",
            [_stored(canonical.key), *geometry[:3], *values],
        )
        by_column: dict[int, list[_Made]] = defaultdict(list)
        for row in rows:
            with noting(self.left_out, f"{self.path}: {row['games']} moves in this position"):
                move = integer(row["move"], "a move", 0, geometry.columns - 1)
                column = geometry.columns - 1 - move if canonical != position else move
                by_column[column].append(_Made(text(row["player"], "its player"), _points(row["points"]), row["games"]))
        played = [_played(column, made) for column, made in by_column.items()]
        return sorted(played, key=lambda one: (-one.games, one.column))

    def _where(
        self, opponent: str, me: str, seat: int | None, since: str, rated: tuple[float, float] | None
    ) -> tuple[str, list[Any]]:
        """The condition for games that fit, in SQL, and its values; notes how many cannot be told apart by date."""
        seated, values = [], list[Any]()
        sides = [("first", "second"), ("second", "first")]
        for own, other in sides if seat is None else [sides[seat]]:
            terms: list[tuple[str, Sequence[Any]]] = []
            terms += [(f"shown(CAST({own} AS BLOB)) = ?", [me])] if me else []
            terms += [(f"shown(CAST({other} AS BLOB)) = ?", [opponent])] if opponent else []
            terms += [(_rated(other), rated)] if rated else []
            seated.append(" AND ".join(term for term, _ in terms) or "1")
            values += [value for _, given in terms for value in given]
        where = f"({' OR '.join(seated)})"
        if since:
            undated = f"SELECT count(*) FROM games WHERE {where} AND date = ''"
            (count,) = self.connection.execute(undated, values).fetchone()
            self.left_out += [f"{count} games of which no date is known (--since {since})"] if count else []
        return f"{where} AND date >= ?", [*values, since]


class _Made(NamedTuple):
    """How often a player made a move with one result."""

    player: str
    points: float | None  # of the player
    games: int


def _row(game: Game) -> dict[str, Any]:
    """A game as it is stored, without whose it is."""
    clocks = {
        "seconds": [_rounded(game.seconds(ply)) for ply in range(game.called)],
        "overage": [_rounded(left) for left in game.overage],
        "banks": game.reserve,
    }
    return {
        "key": game.identity,
        "episode": game.episode,
        "first": game.names[0],
        "second": game.names[1],
        "date": game.date or "",
        **sizes_of(game.geometry),
        "first_points": game.points and game.points[0],
        "first_rating": game.ratings[0],
        "second_rating": game.ratings[1],
        "winner": game.line,
        "failed": game.fault.seat if game.fault else None,
        "fault": game.fault.family if game.fault else game.cut,
        "opening": game.opening,
        "moves": write_columns(game.moves),
        "source": _source(game.source),
        **{name: json.dumps(value, separators=(",", ":")) for name, value in clocks.items()},
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _source(path: str | Path) -> str:
    return shown(os.path.abspath(path), None)


def _indexed(game: Game) -> Iterator[tuple[int | str, int]]:
    """Key and move of each position in which a player chose a move, as the table of positions has them."""
    last = game.geometry.columns - 1
    position = mirror = Position.empty(game.geometry)
    for ply, column in enumerate(game.moves):
        if ply >= game.opening:
            key, mirrored = position.key, mirror.key
            move = column if key < mirrored else last - column if mirrored < key else min(column, last - column)
            yield _stored(min(key, mirrored)), move
        position, mirror = position.play(column), mirror.play(last - column)


def _stored(key: int) -> int | str:
    """A key as SQLite holds it, whose integers have 64 bits with a sign."""
    return key if key < 1 << 63 else str(key)


def _rated(column: str) -> str:
    """That the latest rating that was kept of a player lies in a range."""
    latest = f"(SELECT score FROM ratings WHERE name = {column} ORDER BY ratings.date DESC LIMIT 1)"
    return f"{latest} BETWEEN ? AND ?"


def _game(row: sqlite3.Row, kept: Mapping[str, list[tuple[str, float]]]) -> Game:
    """A row's game, with ratings as kept where it tells none. Raises ValueError, and what else a bad row may raise."""
    names, date = (text(row["first"], "a player"), text(row["second"], "a player")), text(row["date"], "the date")
    moves, geometry = parse_columns(row["moves"]), Rules({name: row[name] for name in SIZES}).geometry
    check_playable(moves, geometry)
    score, failed, fault = _points(row["first_points"]), _seat(row["failed"]), text(row["fault"], "the fault")
    if failed is not None and fault not in FAMILIES.values():
        raise ValueError(f"there is no fault {fault!r}")
    first, second = (_optional(number, row[name], "a rating") for name in ("first_rating", "second_rating"))
    reserve = _optional(_seconds, from_json(row["banks"]), "seconds of overage time")
    if reserve is not None and len(reserve) != 2:
        raise ValueError(f"expected the overage time of two players, not of {len(reserve)}")
    game = Game(
        geometry,
        moves,
        names,
        integer(row["opening"], "the opening", 0, len(moves)),
        faults=() if failed is None else (Fault(failed, len(moves), fault, "", True),),
        reserve=None if reserve is None else (reserve[0], reserve[1]),
        overage=_seconds(from_json(row["overage"]), "seconds of overage time"),
        measured=tuple(_optional(number, one, "seconds of a move") for one in from_json(row["seconds"])),
        ratings=(_nearest(kept, names[0], date, first), _nearest(kept, names[1], date, second)),
        date=date or None,
        episode=_optional(integer, row["episode"], "Kaggle's number"),
        submission=_optional(integer, row["submission"], "the submission"),
        source=text(row["source"], "the source"),
    )
    if game.ending == "unfinished" and score is not None:
        game = replace(game, cut=fault if fault in CUTS else CUTS[0])
    if game.points != (None if score is None else (score, 1 - score)):
        raise ValueError(f"its first player has {score} points, but its moves and faults say {game.ending!r}")
    return game


def _optional(read: Callable[[Any, str], Value], value: Any, name: str) -> Value | None:
    return None if value is None else read(value, name)


def _seconds(values: Any, name: str) -> tuple[float, ...]:
    return tuple(number(one, name) for one in values)


def _seat(value: Any) -> int | None:
    return None if value is None else integer(value, "a seat", 0, 1)


def _points(value: Any) -> float | None:
    if value not in (None, 0.0, 0.5, 1.0):
        raise ValueError(f"points should be 0, 0.5 or 1, not {value!r:.40}")
    return value


def _nearest(kept: Mapping[str, list[tuple[str, float]]], name: str, date: str, known: float | None) -> float | None:
    """A player's rating in a game: as known, or its score that was kept last before the date, or else first after."""
    scores = kept.get(name, []) if date else []
    if known is not None or not scores:
        return known
    index = bisect.bisect_right(scores, (date, float("inf")))
    return scores[max(0, index - 1)][1]


def _played(column: int, made: Iterable[_Made]) -> Played:
    results, players = Counter[float | None](), Counter[str]()
    for one in made:
        results[one.points] += one.games
        players[one.player] += one.games
    by_frequency = tuple(sorted(players.items(), key=lambda item: (-item[1], item[0])))
    return Played(column, results.total(), results[1.0], results[0.5], results[0.0], by_frequency)
