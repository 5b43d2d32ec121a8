"""The file of games: every game of a match that was played here, and of the ladder; and every position in them.

A match is identified by its key, a digest of what it asks for: the agents with their fingerprints (see
``connectx_toolkit.players.fingerprint``), configuration, overage time, openings and seed. The same match finds
its games; more pairs or another SPRT add to them. Each game is committed when it ends, with the conditions that it was
played under, and counts once by its number. So a killed run can be resumed.

A game of the ladder is there once, whatever the names of its files: Kaggle's episode number identifies it, or else a
digest of what happened in it. Teams' scores on Kaggle's leaderboard are kept with the date on which they were fetched.
What is not known is not made up: a game's date is Kaggle's, or there is none.

Positions are found by the key of ``Position.canonical()``, so that mirror images are one position.
"""

import bisect
import contextlib
import json
import os
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from connectx.position import Columns, Position, write_columns
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.match import Conditions
from connectx_toolkit.games.rows import absolute, board_of, game_of, indexed, key_of, row_of, rules_of
from connectx_toolkit.games.schema import in_words, open_to_read, open_to_write
from connectx_toolkit.players.fingerprint import fingerprint
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.system.files import locked
from connectx_toolkit.system.foreign import from_json, integer, mapping, noting, number, shown, text

BATCH = 200  # games in a transaction: what a kill loses at most
ORIGINS = {  # of games: conditions for the table of games, and for that of positions
    "ladder": ("match IS NULL", "ladder = 1"),
    "arena": ("match IS NOT NULL", "ladder = 0"),
    "all": ("1", "1"),
}
COUNTED = "count(positions.points) AS known, " + ", ".join(
    f"count(*) FILTER (WHERE positions.points = {points}) AS {name}"
    for points, name in ((1, "won"), (0.5, "drawn"), (0, "lost"))
)
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


class GameDatabase:
    """The file of games. Use it in a ``with`` block.

    Args:
        create: make the file if there is none. False: only read it, which works in a read-only folder too and changes
            nothing.
        origin: which games its length, ``names``, ``owners``, ``games`` and ``at`` are about: those of the "ladder",
            those of the "arena", which were played here in matches, or "all".

    Attributes:
        left_out: why games were not added, and rows are not among what was read.

    Raises:
        ValueError: the file is something else, of a version that this one cannot read, or cannot be written or read; at
            the end of the block: it is damaged or could not be written.
    """

    def __init__(self, path: Path, create: bool = True, origin: str = "ladder"):
        self.path = path
        self.aim = "written" if create else "read"
        self.connection = open_to_write(path) if create else open_to_read(path)
        self.connection.row_factory = sqlite3.Row
        self.chosen, self.chosen_positions = ORIGINS[origin]
        self.left_out: list[str] = []

    def __enter__(self) -> "GameDatabase":
        return self

    def __exit__(self, kind: object, problem: object, trace: object) -> None:
        with contextlib.suppress(sqlite3.Error):  # closing writes, too
            self.connection.close()
        if isinstance(problem, sqlite3.Error):  # damaged, or the disk is full
            raise ValueError(in_words(self.path, problem, self.aim)) from None

    # Writing

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

    def _insert(self, table: str, row: Row) -> int | None:
        """Adds a row, unless there is one with the same unique columns; its id, or None."""
        places = ", ".join(f":{name}" for name in row)
        cursor = self.connection.execute(f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({places})", row)
        return cursor.lastrowid if cursor.rowcount else None

    def _insert_game(self, row: Row, game: Game) -> bool:
        if (number := self._insert("games", row)) is None:
            return False
        sides = [(row["first"], row["points"]), (row["second"], None if game.points is None else game.points[1])]
        board, is_ladder = board_of(game.geometry), row.get("match") is None
        found = ((board, key, is_ladder, move, name, number, points)
                 for key, move, seat in indexed(game) for name, points in [sides[seat]])  # fmt: skip
        self.connection.executemany("INSERT OR IGNORE INTO positions VALUES (?, ?, ?, ?, ?, ?, ?)", found)
        return True

    def _delete(self, ids: Iterable[int]) -> int:
        """Takes games out with their positions; how many."""
        which, values = "IN (SELECT value FROM json_each(?))", [json.dumps([*ids])]
        self.connection.execute(f"DELETE FROM positions WHERE game {which}", values)
        return self.connection.execute(f"DELETE FROM games WHERE id {which}", values).rowcount

    # Matches

    def match_id(
        self, first: AgentSpec, second: AgentSpec, setup: Setup, openings: Sequence[Columns], seed: int
    ) -> int:
        """The id to add games of a match with, a new one if there is none."""
        hashed = [(spec.lasting, fingerprint(spec)) for spec in (first, second)]
        config, reserve = json.dumps(setup.rules.config, sort_keys=True), setup.rules.overage
        decisive = [[spec.kind, spec.target, content] for spec, content in hashed]
        parts = [decisive, config, reserve, list(map(write_columns, openings)), seed]
        agents = [json.dumps([*spec, content]) for spec, content in hashed]
        return self.add_match(
            {
                "key": sha256(json.dumps(parts).encode()).hexdigest(),
                "first": agents[0],
                "second": agents[1],
                "config": config,
                "reserve": reserve,
                "seed": seed,
                "started": now(),
            }
        )

    def add_match(self, row: Row) -> int:
        """The id of the match with a row's key, which is added if there is none."""
        self._insert("matches", row)
        return self.connection.execute("SELECT id FROM matches WHERE key = :key", row).fetchone()["id"]

    def conditions_id(self, conditions: str) -> int:
        """The id of conditions, as ``Conditions.to_json`` writes them; added if there are none."""
        self._insert("conditions", {"text": conditions})
        return self.connection.execute("SELECT id FROM conditions WHERE text = ?", [conditions]).fetchone()["id"]

    def add_played(self, match: int, task: Task, game: Game, conditions: Conditions) -> Game:
        """Stores a match's game at once, unless one with its number is stored; returns the one that is stored then."""
        row = row_of(replace(game, date=game.date or now())) | {
            "match": match,
            "number": task.number,
            "seeds": json.dumps(task.seeds),
            "added": now(),
        }
        with self._transaction():
            row["conditions"] = self.conditions_id(conditions.to_json())
            self._insert_game(row, game)
            rows = self.connection.execute("SELECT * FROM games WHERE match = :match AND number = :number", row)
            stored = rows.fetchone()
            try:
                return game_of(stored, self.path)
            except (ValueError, TypeError, LookupError):  # a damaged row, which ``match_games`` has left out
                self._delete([stored["id"]])
                self._insert_game(row, game)
                return game

    def match_games(self, match: int) -> dict[int, Game]:
        """The games of a match by number. Raises ValueError if its row is damaged."""
        found = dict[int, Game]()
        config, reserve = self.connection.execute(
            "SELECT config, reserve FROM matches WHERE id = ?", [match]
        ).fetchone()
        board = rules_of(config, reserve).geometry
        for row in self.connection.execute("SELECT * FROM games WHERE match = ? ORDER BY number", [match]):
            with noting(self.left_out, f"{self.path}: {_called(row)}"):
                game = game_of(row, self.path)
                if game.geometry != board:
                    raise ValueError(f"its board is {board_of(game.geometry)}, not {board_of(board)}")
                found[row["number"]] = game
        return found

    def conditions(self, match: int, total: float = inf) -> Counter[Conditions]:
        """How many of the first ``total`` games of a match were played under which conditions."""
        found = Counter[Conditions]()
        rows = self.connection.execute(
            "SELECT text, count(*) FROM games JOIN conditions ON conditions.id = conditions "
            "WHERE match = ? AND number < ? GROUP BY text ORDER BY min(games.id)",
            [match, total],
        )
        for conditions, games in rows:
            with noting(self.left_out, f"{self.path}: conditions of match {match}"):
                found[Conditions.from_json(conditions)] += games
        return found

    @contextlib.contextmanager
    def turn(self, match: int, total: int) -> Iterator[dict[int, Game]]:
        """Keeps other processes from playing the match in the block; waits, and says so, while one of them does.

        Matches that differ can be played at the same time. The turn of a process that dies ends with it.

        Args:
            total: how many games the match is to have.

        Yields:
            Those of them that are stored when the turn comes, by number.

        Raises:
            OSError: the lock file beside the file of games cannot be made.
        """
        with locked(self.path, str(match), "another process is playing this match"):
            yield {number: game for number, game in self.match_games(match).items() if number < total}

    def match_rows(self) -> list[sqlite3.Row]:
        """The rows of all matches, oldest first."""
        return self.connection.execute("SELECT * FROM matches ORDER BY id").fetchall()

    # Games of the ladder

    def add(self, games: Iterable[Game], me: str = "", submission: int | None = None) -> int:
        """Adds games in batches; those that are there already stay as they are, but for what was not known of them.

        A game that was added before without ``me`` is taken to be theirs from now on.

        Args:
            me: whose games these are; "" where that is not known.
            submission: Kaggle's number of the submission that "me" played with.

        Returns:
            How many were new.
        """
        return self.add_rows(self._ladder_rows(games, me, submission))

    def _ladder_rows(self, games: Iterable[Game], me: str, submission: int | None) -> Iterator[tuple[Row, Game]]:
        for game in games:
            with noting(self.left_out, game.source):
                is_own = bool(me) and me in game.names
                digest = game.identity if game.episode is None else None
                own = {"owner": me if is_own else None, "submission": submission if is_own else None}
                yield row_of(game) | own | {"digest": digest, "added": now()}, game

    def add_rows(self, rows: Iterable[tuple[Row, Game]]) -> int:
        """Adds rows of games with their games, in batches; how many were new."""
        added, waiting = 0, iter(rows)
        while batch := list(islice(waiting, BATCH)):
            with self._transaction():
                for row, game in batch:
                    if self._insert_game(row, game):
                        added += 1
                    elif row.get("match") is None:
                        self._learn(row)
        return added

    def _learn(self, row: Row) -> None:
        """Adds to a game that is there what was not known of it: date, ratings, source, and whose it is."""
        which = "(episode = :episode OR digest = :digest)"
        (known,) = self.connection.execute(f"SELECT record FROM games WHERE {which}", row).fetchone()
        told = json.loads(row["record"])
        record: dict[str, Any] = {}
        with noting([], known):
            record = mapping(from_json(known), "the record")
        if record and (new := {name: told[name] for name in ("ratings", "source") if name in told.keys() - record}):
            values = {**row, "record": json.dumps(record | new, separators=(",", ":"))}
            self.connection.execute(f"UPDATE games SET record = :record WHERE {which}", values)
        self.connection.execute(f"UPDATE games SET date = :date WHERE {which} AND :date NOT NULL", row)
        is_free = "owner IS NULL OR owner = :owner AND submission IS NULL"
        own = "UPDATE games SET owner = :owner, submission = :submission"
        self.connection.execute(f"{own} WHERE {which} AND :owner NOT NULL AND ({is_free})", row)

    def remove(self, what: Sequence[str]) -> int:
        """Takes out games of the ladder by Kaggle's number, or all that were first read from a file or a folder.

        Returns:
            How many games.

        Raises:
            ValueError: one of them stands for no game; all stay.
        """
        with self._transaction():
            return sum(map(self._remove, what))

    def _remove(self, what: str) -> int:
        if what.isdecimal() and not os.path.exists(what):
            asked = [integer(int(what), "a game's number")]
            ids = [one["id"] for one in self.connection.execute("SELECT id FROM games WHERE episode = ?", asked)]
        else:
            ids = [*self._ids_from(absolute(what))]
        if not ids:
            expected = "expected Kaggle's number of a game, or where games were added from"
            raise ValueError(f"{self.path} holds no game of {what}: {expected}")
        return self._delete(ids)

    def _ids_from(self, source: str) -> Iterator[int]:
        for game, record in self.connection.execute("SELECT id, record FROM games WHERE match IS NULL"):
            with noting([], record):
                told = from_json(record).get("source", "")
                if told == source or told.startswith(f"{source}/"):
                    yield game

    def add_scores(self, scores: Mapping[str, float], date: str) -> None:
        """Keeps teams' scores on the leaderboard of a day. ``date``: ISO 8601."""
        with self._transaction():
            rows = [(name, date, score) for name, score in scores.items()]
            self.connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?, ?)", rows)

    def scores(self) -> dict[str, list[tuple[str, float]]]:
        """The scores that were kept of each team, (date, score), by date."""
        rows = self.connection.execute("SELECT name, date, score FROM scores ORDER BY name, date")
        return scores_in(rows, self.path, self.left_out)

    # Questions

    def __len__(self) -> int:
        (count,) = self.connection.execute(f"SELECT count(*) FROM games WHERE {self.chosen}").fetchone()
        return count

    def names(self) -> Counter[str]:
        """Games of each player; a game against itself counts once."""
        rows = self.connection.execute(f"SELECT first, second FROM games WHERE {self.chosen}")
        return Counter(shown(name) for row in rows for name in {*row} if isinstance(name, str))

    def owners(self) -> Counter[str]:
        """Games of each player whose own they were said to be."""
        rows = self.connection.execute(f"SELECT owner FROM games WHERE owner NOT NULL AND {self.chosen}")
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
        kept, order = self.scores(), "episode IS NULL, episode, date, id"
        rows = f"SELECT * FROM games WHERE {self.chosen} AND {where} ORDER BY {order}"
        for row in self.connection.execute(rows, values):
            with noting(self.left_out, f"{self.path}: {_called(row)}"):
                game = game_of(row, self.path)
                yield game if row["match"] is not None else _rated_by(game, kept)

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
        filtered = ("", "") if where == "1" else ("JOIN games ON games.id = game", f"AND {where}")
        rows = self.connection.execute(
            f"SELECT move, player, count(*) AS games, {COUNTED} FROM positions {filtered[0]} "
            f"WHERE board = ? AND key = ? AND {self.chosen_positions} {filtered[1]} GROUP BY move, player",
            [board_of(geometry), key_of(canonical.key), *values],
        )
        by_column: dict[int, list[Played]] = defaultdict(list)
        for row in rows:
            with noting(self.left_out, f"{self.path}: {row['games']} moves in this position"):
                move = integer(row["move"], "a move", 0, geometry.columns - 1)
                column = geometry.columns - 1 - move if canonical != position else move
                results = row["won"], row["drawn"], row["lost"]
                if row["known"] > sum(results):
                    raise ValueError("points should be 0, 0.5 or 1")
                made = Played(column, row["games"], *results, ((text(row["player"], "its player"), row["games"]),))
                by_column[column].append(made)
        return sorted(map(_together, by_column.values()), key=lambda one: (-one.games, one.column))

    def _where(
        self, opponent: str, me: str, seat: int | None, since: str, rated: tuple[float, float] | None
    ) -> tuple[str, list[Any]]:
        """The condition for games that fit, in SQL, and its values; notes how many cannot be told apart by date."""
        seated, values = [], list[Any]()
        sides = [("first", "second"), ("second", "first")]
        for own, other in sides if seat is None else [sides[seat]]:
            terms: list[tuple[str, Sequence[Any]]] = []
            terms += [(f"{own} = ?", [me])] if me else []
            terms += [(f"{other} = ?", [opponent])] if opponent else []
            terms += [(_rated(other), rated)] if rated else []
            seated.append(" AND ".join(term for term, _ in terms) or "1")
            values += [value for _, given in terms for value in given]
        where = f"({' OR '.join(seated)})" if values else "1"
        if not since:
            return where, values
        undated = f"SELECT count(*) FROM games WHERE {self.chosen} AND {where} AND date IS NULL"
        (count,) = self.connection.execute(undated, values).fetchone()
        self.left_out += [f"{count} games of which no date is known (--since {since})"] if count else []
        return f"{where} AND date >= ?", [*values, since]


def scores_in(rows: Iterable[Sequence[Any]], path: Path, left_out: list[str]) -> dict[str, list[tuple[str, float]]]:
    """The scores in rows of name, date and score, by name; those that cannot be read are noted."""
    found: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for name, date, score in rows:
        with noting(left_out, f"{path}: a score of {name!r:.40}"):
            found[text(name, "its name")].append((text(date, "its date"), number(score, "it")))
    return dict(found)


def _together(made: Sequence[Played]) -> Played:
    """What came of one move, of what came of it for each player."""
    players = sorted((one.players[0] for one in made), key=lambda item: (-item[1], item[0]))
    games, won, drawn, lost = (sum(counts) for counts in zip(*(one[1:5] for one in made), strict=True))
    return Played(made[0].column, games, won, drawn, lost, (*players,))


def _rated(column: str) -> str:
    """That the latest score that was kept of a player lies in a range."""
    latest = f"(SELECT score FROM scores WHERE name = {column} ORDER BY scores.date DESC LIMIT 1)"
    return f"{latest} BETWEEN ? AND ?"


def _rated_by(game: Game, kept: Mapping[str, list[tuple[str, float]]]) -> Game:
    """A game with the scores that were kept in the place of ratings that it does not tell."""
    first, second = (_nearest(kept, name, game.date, game.ratings[seat]) for seat, name in enumerate(game.names))
    return replace(game, ratings=(first, second))


def _nearest(
    kept: Mapping[str, list[tuple[str, float]]], name: str, date: str | None, known: float | None
) -> float | None:
    """A player's rating in a game: as known, or its score that was kept last before the date, or else first after."""
    scores = kept.get(name, []) if date else []
    if known is not None or not scores:
        return known
    index = bisect.bisect_right(scores, (date, inf))
    return scores[max(0, index - 1)][1]


def _called(row: sqlite3.Row) -> str:
    """What a row that cannot be read is called."""
    if row["match"] is not None:
        return f"game {row['number']!r:.40} of match {row['match']!r:.40}"
    return f"game {row['episode'] or row['digest']!r:.40}"


def now() -> str:
    """This moment as the file has times: ISO 8601, UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
