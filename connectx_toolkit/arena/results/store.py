"""Stores results in SQLite: every game with moves, times and seeds, so that a killed run can be resumed.

A match is identified by its key, a hash of what it asks for: the agents with their fingerprints (see
``connectx_toolkit.arena.players.fingerprint``), configuration, overage time, openings and seed. The same match finds
its games; more pairs or another SPRT add to them. Each game is committed when it ends, and counts once by its number.

A row of ``matches`` is a match and the conditions that games of it were played under (see
``connectx_toolkit.arena.results.conditions``). All rows with the same key are one match.
"""

import contextlib
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from connectx.notation import Columns, parse_columns, write_columns
from connectx_toolkit.arena.players.fingerprint import fingerprint
from connectx_toolkit.arena.players.process import Setup, Task
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.results.conditions import Conditions, conditions_here
from connectx_toolkit.arena.results.match import Match
from connectx_toolkit.arena.results.records import CUTS, Game, check_playable
from connectx_toolkit.arena.results.schema import in_words, open_to_read, open_to_write
from connectx_toolkit.arena.results.tournament import Tournament
from connectx_toolkit.console.files import locked
from connectx_toolkit.foreign import from_json, integer, mapping, noting, number, shown, text
from connectx_toolkit.kaggle.rules import DEFAULTS, STATUS_OF, Fault, Rules

SIZES = ("rows", "columns", "inarow")
REFEREE, KAGGLES = "fast", "kaggle"  # in keys: both give the same results; earlier versions let Kaggle's play files
FILES_RELOADED = "null"  # in keys and in the column "fresh": earlier versions could also reload all agents, or none
ONE_MATCH = "key = (SELECT key FROM matches WHERE id = :match)"  # the rows of a match, under whatever conditions
GAMES_OF_ONE = f"games JOIN matches ON id = match WHERE {ONE_MATCH}"


class StoredMatch(NamedTuple):
    """A match in the store; ``hashes`` distinguish agents with the same label."""

    match: Match
    hashes: tuple[str, str]
    config: dict[str, Any]
    bank: float
    conditions: Counter[Conditions]  # how many of its games were played under which

    @property
    def title(self) -> str:
        """The configuration and the overage time."""
        config = self.config
        changed = {key: value for key, value in config.items() if DEFAULTS.get(key) != value}
        size = f"{config['rows']}x{config['columns']}, {config['inarow']} in a row, {self.bank:g} s overage time"
        return size + "".join(f", {key}={value}" for key, value in changed.items() if key not in SIZES)


class Store:
    """An SQLite file of matches. Use it in a ``with`` block.

    Args:
        create: make the file if there is none. False: only read it, which works in a read-only folder too and changes
            nothing.

    Attributes:
        left_out: why matches and games are not among what was read: a row that somebody else has written or damaged.

    Raises:
        ValueError: the file is not such a store, of a schema that this version cannot read, or cannot be written or
            read; at the end of the block: it is damaged or could not be written.
    """

    def __init__(self, path: Path, create: bool = True):
        self.path = path
        self.aim = "written" if create else "read"
        self.connection = open_to_write(path) if create else open_to_read(path)
        self.connection.row_factory = sqlite3.Row
        self.left_out: list[str] = []

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: object, problem: object, trace: object) -> None:
        with contextlib.suppress(sqlite3.Error):  # closing writes, too
            self.connection.close()
        if isinstance(problem, sqlite3.Error):  # damaged, or the disk is full
            raise ValueError(in_words(self.path, problem, aim=self.aim)) from None

    def match_id(
        self,
        first: AgentSpec,
        second: AgentSpec,
        setup: Setup,
        openings: Sequence[Columns],
        seed: int,
        conditions: Conditions | None = None,
    ) -> int:
        """The id to add games of a match with, a new one if there is none. If the other referee played it, its key
        becomes today's.

        Args:
            conditions: that they are played under; by default those of one game at a time here.
        """
        hashed = [(spec, fingerprint(spec)) for spec in (first, second)]
        decisive = [[spec.kind, spec.target, content] for spec, content in hashed]
        config = json.dumps(setup.rules.config, sort_keys=True)

        def key(referee: str) -> str:
            mode = [config, setup.rules.bank, referee, FILES_RELOADED]
            parts = [decisive, mode, seed, list(map(write_columns, openings))]
            return sha256(json.dumps(parts).encode()).hexdigest()

        row = {
            "key": key(REFEREE),
            "first": json.dumps([*first, hashed[0][1]]),
            "second": json.dumps([*second, hashed[1][1]]),
            "config": config,
            "bank": setup.rules.bank,
            "referee": REFEREE,
            "fresh": FILES_RELOADED,
            "seed": seed,
            "conditions": (conditions or conditions_here()).to_json(),
            "started": _now(),
        }
        self.connection.execute("UPDATE OR IGNORE matches SET key = ? WHERE key = ?", [key(REFEREE), key(KAGGLES)])
        self._insert("matches", row)
        found = self.connection.execute("SELECT id FROM matches WHERE key = :key AND conditions = :conditions", row)
        return found.fetchone()["id"]

    def conditions(self, match: int, total: float = inf) -> Counter[Conditions]:
        """How many of the first ``total`` games of a match were played under which conditions."""
        found = Counter[Conditions]()
        chosen = f"SELECT conditions, min(id) FROM {GAMES_OF_ONE} AND number < :total GROUP BY number"
        rows = f"SELECT conditions, count(*) FROM ({chosen}) GROUP BY conditions"
        for conditions, games in self.connection.execute(rows, {"match": match, "total": total}):
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
            OSError: the lock file beside the store cannot be made.
        """
        first = self.connection.execute(f"SELECT min(id) FROM matches WHERE {ONE_MATCH}", {"match": match})
        with locked(self.path, str(first.fetchone()[0]), "another process is playing this match"):
            yield {number: game for number, game in self.games(match).items() if number < total}

    def _insert(self, table: str, row: dict[str, Any], instead: str = "IGNORE") -> None:
        """Adds a row, unless one with the same unique fields exists; or in its place, with "REPLACE"."""
        names = ", ".join(row)
        values = ", ".join(f":{name}" for name in row)
        self.connection.execute(f"INSERT OR {instead} INTO {table} ({names}) VALUES ({values})", row)

    def games(self, match: int) -> dict[int, Game]:
        """The games of a match by number. Of several with one number, the one under the conditions that came first."""
        found, blank = dict[int, Game](), self._blank(match)
        rows = f"SELECT games.* FROM {GAMES_OF_ONE} ORDER BY number, match"
        for row in self.connection.execute(rows, {"match": match}):
            with noting(self.left_out, f"{self.path}: game {row['number']!r:.40} of match {row['match']}"):
                found.setdefault(integer(row["number"], "the number", 0), _game(row, blank))
        return found

    def _blank(self, match: int) -> Game:
        """What all games of a match have in common, named as its even games. Raises as ``_match``."""
        row = self.connection.execute("SELECT * FROM matches WHERE id = ?", [match]).fetchone()
        rules, ((first, _), (second, _)) = _rules(row), _agents(row)
        return Game(
            rules.geometry,
            (),
            (first.label, second.label),
            act_timeout=rules.config["actTimeout"],
            reserve=(rules.bank, rules.bank),
        )

    def add(self, match: int, task: Task, game: Game) -> Game:
        """Stores a game at once, unless one with its number is stored already; returns the one that is stored then."""
        row = {"match": match, "number": task.number, "moves": write_columns(game.moves), "opening": game.opening}
        written = {
            "seeds": task.seeds,
            "rewards": game.rewards,
            "statuses": game.statuses,
            "ending": game.ending,
            "faults": game.faults,
            "seconds": [round(s, 6) for s in game.measured[game.opening :] if s is not None],
            "banks": [game.overage_left(seat) for seat in (0, 1)],
            "loads": game.loads and [round(s, 6) for s in game.loads],
        }
        row |= {name: json.dumps(value) for name, value in written.items()} | {"finished": _now()}
        self._insert("games", row)
        stored = self.connection.execute("SELECT * FROM games WHERE match = :match AND number = :number", row)
        try:
            return _game(stored.fetchone(), self._blank(match))
        except (ValueError, TypeError, LookupError):  # a damaged row, which ``games`` has left out
            self._insert("games", row, "REPLACE")
            return game

    def matches(self) -> Iterator[StoredMatch]:
        """Every match that has games, oldest first."""
        seen = set[str]()
        for row in self.connection.execute("SELECT * FROM matches ORDER BY id").fetchall():
            with noting(self.left_out, f"{self.path}: match {row['id']}"):
                if row["key"] not in seen and (games := self.games(row["id"])):
                    stored = _match(row, games, self.conditions(row["id"]))
                    seen.add(row["key"])
                    yield stored


class Group(NamedTuple):
    """Matches that can be compared."""

    title: str
    config: dict[str, Any]
    tournament: Tournament
    edited: set[str]  # names of agents that exist in several versions
    conditions: Counter[Conditions]  # how many of its games were played under which


def groups(store: Store) -> list[Group]:
    """The store's matches in groups, each of one configuration and overage time.

    If agents with the same label differ, their names get the start of their hash.
    """
    stored = list(store.matches())
    content: dict[str, set[str]] = {}
    for item in stored:
        for spec, digest in zip((item.match.first, item.match.second), item.hashes, strict=True):
            content.setdefault(spec.label, set()).add(digest)
    edited = {f"{label} {digest[:6]}" for label, digests in content.items() if len(digests) > 1 for digest in digests}

    def name(spec: AgentSpec, digest: str) -> str:
        return spec.label if len(content[spec.label]) == 1 else f"{spec.label} {digest[:6]}"

    found: dict[str, list[StoredMatch]] = {}
    for item in stored:
        found.setdefault(item.title, []).append(item)
    made = []
    for title, items in found.items():
        names = [(name(i.match.first, i.hashes[0]), name(i.match.second, i.hashes[1])) for i in items]
        conditions = sum((i.conditions for i in items), Counter[Conditions]())
        made.append(Group(title, items[0].config, Tournament([i.match for i in items], names), edited, conditions))
    return made


def group_games(group: Group) -> list[Game]:
    """The games of a group, under the names that its agents have there."""
    pairs = zip(group.tournament.matches, group.tournament.names, strict=True)
    return [match.shown(number, names) for match, names in pairs for number in sorted(match.games)]


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _agents(row: sqlite3.Row) -> list[tuple[AgentSpec, str]]:
    """Both agents of a match's row, each with its hash."""
    agents = [[text(one, "an agent") for one in from_json(row[seat])] for seat in ("first", "second")]
    return [(AgentSpec(*spec), digest) for *spec, digest in agents]


def _match(row: sqlite3.Row, games: dict[int, Game], conditions: Counter[Conditions]) -> StoredMatch:
    """A row's match. Raises ValueError, and what else a damaged row may make Python raise."""
    (first, first_hash), (second, second_hash) = _agents(row)
    rules = _rules(row)
    match = Match(first, second, games, seed=integer(row["seed"], "the seed"))
    return StoredMatch(match, (first_hash, second_hash), rules.config, rules.bank, conditions)


def _rules(row: sqlite3.Row) -> Rules:
    """The configuration and overage time of a match's row. Raises ValueError if they are none."""
    config = mapping(from_json(row["config"]), "the configuration")
    if missing := [name for name in SIZES if name not in config]:
        raise ValueError(f"the configuration has no {missing[0]}")
    return Rules(config, number(row["bank"], "overage time", 0.0))


def _game(row: sqlite3.Row, blank: Game) -> Game:
    """A row's game. Raises ValueError, and what else a damaged row may make Python raise."""
    loads, ending, moves = from_json(row["loads"]), from_json(row["ending"]), parse_columns(row["moves"])
    check_playable(moves, blank.geometry)
    opening = integer(row["opening"], "the opening", 0, len(moves))
    seconds = [number(one, "seconds of a call", 0.0) for one in from_json(row["seconds"])]
    measured = (*(None for _ in range(opening)), *seconds)
    game = replace(
        blank,
        moves=moves,
        names=blank.names[::-1] if row["number"] % 2 else blank.names,
        opening=opening,
        cut=ending if ending in CUTS else "",
        faults=tuple(_fault(*fault) for fault in from_json(row["faults"])),
        overage=_overage(blank, measured, _two_times(from_json(row["banks"]))),
        measured=measured,
        loads=None if loads is None else _two_times(loads),
    )
    if game.ending != ending:
        raise ValueError(f"its ending is {ending!r:.40}, but its moves and faults end with {game.ending!r}")
    if len(measured) != (asked := len(moves) + (game.fault is not None)):
        raise ValueError(f"it has the times of {len(seconds)} calls, not of {asked - opening}")
    return game


def _overage(blank: Game, measured: Sequence[float | None], last: tuple[float, float]) -> tuple[float, ...]:
    """Seconds of overage time left by ply, from the time of each call; at the end as the referee counted them."""
    left, found = list(blank.reserve or last), list[float]()
    for ply, seconds in enumerate(measured):
        left[ply % 2] -= max(0.0, (seconds or 0.0) - blank.act_timeout)
        found.append(left[ply % 2])
    for ply in range(len(found))[-2:]:
        found[ply] = last[ply % 2]
    return tuple(found)


def _two_times(values: Any) -> tuple[float, float]:
    first, second = (number(one, "seconds") for one in values)
    return first, second


def _fault(seat: Any, ply: Any, kind: Any, detail: Any, fatal: Any) -> Fault:
    if kind not in STATUS_OF:
        raise ValueError(f"there is no fault {kind!r:.40}")
    lines = "\n".join(map(shown, str(detail).split("\n")))
    return Fault(integer(seat, "a seat", 0, 1), integer(ply, "a ply", 0), kind, lines, bool(fatal))
