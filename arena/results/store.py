"""Stores results in SQLite: every game with moves, times, seeds and versions, so that a killed run can be resumed.

A match is identified by its key, a hash of everything that determines its games: the agents with their fingerprints
(see ``arena.players.fingerprint``), configuration, bank, referee, openings and seed. The same match started again finds
its games; more pairs or another SPRT add to them. Each game is committed when it ends. Its number is unique within the
match, so that no game is counted twice.
"""

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from arena.game.openings import Opening, parse_columns, write_opening
from arena.game.rules import DEFAULTS, Fault, Game, Rules
from arena.players.fingerprint import fingerprint
from arena.players.loading import version_of
from arena.players.spec import AgentSpec
from arena.results.match import Match
from arena.results.records import GameRecord
from arena.results.tournament import Tournament
from arena.runs.slot import Setup, Task

SCHEMA_VERSION = 2
SIZES = ("rows", "columns", "inarow")
SCHEMA = """
CREATE TABLE matches (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    first TEXT NOT NULL, second TEXT NOT NULL,  -- JSON: kind, target, label, hash
    config TEXT NOT NULL, bank REAL NOT NULL, referee TEXT NOT NULL, fresh TEXT NOT NULL, seed INTEGER NOT NULL,
    versions TEXT NOT NULL, started TEXT NOT NULL
);
CREATE TABLE games (
    match INTEGER NOT NULL REFERENCES matches, number INTEGER NOT NULL,  -- odd: the second agent moves first
    moves TEXT NOT NULL, opening INTEGER NOT NULL, seeds TEXT NOT NULL,
    rewards TEXT NOT NULL, statuses TEXT NOT NULL, ending TEXT NOT NULL, faults TEXT NOT NULL,
    seconds TEXT NOT NULL, banks TEXT NOT NULL, finished TEXT NOT NULL,
    loads TEXT NOT NULL DEFAULT 'null',  -- since version 2
    PRIMARY KEY (match, number)
) WITHOUT ROWID;
"""


class StoredMatch(NamedTuple):
    """A match in the store; ``hashes`` distinguish agents with the same label."""

    match: Match
    hashes: tuple[str, str]
    config: dict[str, Any]
    referee: str
    seed: int


def _versions() -> dict[str, str]:
    return {name: version_of(name) for name in ("kaggle-environments", "numpy", "numba", "torch")}


class Store:
    """An SQLite file of matches. Use it in a ``with`` block.

    Raises:
        ValueError: the file is not such a store, or of another version; at the end of the block: it is damaged or could
            not be written.
    """

    def __init__(self, path: Path, create: bool = True):
        self.path = path
        if not create and not path.exists():
            raise ValueError(f"there is no store {path}")
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        try:
            self.connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        except sqlite3.Error as problem:
            raise ValueError(f"{path} is not a store of results: {problem}") from None
        try:
            self._check_version()
            self.connection.execute("PRAGMA journal_mode = WAL")  # survives SIGKILL without waiting for the disk
            self.connection.execute("PRAGMA synchronous = NORMAL")
        except (sqlite3.Error, ValueError) as problem:
            self.connection.close()
            if is_new:
                path.unlink(missing_ok=True)  # an empty file where the disk was full
            raise ValueError(f"{path} is not a store of results: {problem}") from None

    def _check_version(self) -> None:
        self.connection.row_factory = sqlite3.Row
        self.connection.execute("BEGIN IMMEDIATE")
        (found,) = self.connection.execute("PRAGMA user_version").fetchone()
        (tables,) = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            for statement in SCHEMA.split(";"):
                self.connection.execute(statement)
            self.connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif found == 1:
            self.connection.execute("ALTER TABLE games ADD COLUMN loads TEXT NOT NULL DEFAULT 'null'")
            self.connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self.connection.execute("COMMIT")
        if tables and found not in (1, SCHEMA_VERSION):
            raise ValueError(f"it is of version {found}, not {SCHEMA_VERSION}")

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: object, problem: object, trace: object) -> None:
        with contextlib.suppress(sqlite3.Error):  # closing writes, too
            self.connection.close()
        if isinstance(problem, sqlite3.Error):  # damaged, or the disk is full
            raise ValueError(f"{self.path}: {problem}") from None

    def match_id(
        self, first: AgentSpec, second: AgentSpec, setup: Setup, openings: Sequence[Opening], seed: int
    ) -> int:
        """The id of the match, which is added to the store if it is new."""
        hashed = [(spec, fingerprint(spec)) for spec in (first, second)]
        agents = [json.dumps([*spec, content]) for spec, content in hashed]
        rules = {
            "config": json.dumps(setup.rules.config, sort_keys=True),
            "bank": setup.rules.bank,
            "referee": setup.referee,
            "fresh": json.dumps(setup.fresh),
        }
        decisive = [[spec.kind, spec.target, content] for spec, content in hashed]
        parts = [decisive, list(rules.values()), seed, list(map(write_opening, openings))]
        key = sha256(json.dumps(parts).encode()).hexdigest()
        now = {"versions": json.dumps(_versions()), "started": _now()}
        self._insert("matches", {"key": key, "first": agents[0], "second": agents[1], **rules, "seed": seed, **now})
        return self.connection.execute("SELECT id FROM matches WHERE key = ?", [key]).fetchone()["id"]

    def _insert(self, table: str, row: dict[str, Any]) -> None:
        """Adds a row, unless one with the same unique fields exists."""
        names = ", ".join(row)
        values = ", ".join(f":{name}" for name in row)
        self.connection.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({values})", row)

    def games(self, match: int) -> dict[int, Game]:
        """The games of a match by number."""
        rows = self.connection.execute("SELECT * FROM games WHERE match = ? ORDER BY number", [match])
        return {row["number"]: _game(row) for row in rows}

    def add(self, match: int, task: Task, game: Game) -> None:
        """Stores a game at once. An existing one is not replaced: another process may play the same match."""
        row = {"match": match, "number": task.number, "moves": write_opening(game.moves), "opening": game.opening}
        written = {
            "seeds": task.seeds,
            "rewards": game.rewards,
            "statuses": game.statuses,
            "ending": game.ending,
            "faults": game.faults,
            "seconds": [round(s, 6) for s in game.seconds],
            "banks": game.banks,
            "loads": game.loads and [round(s, 6) for s in game.loads],
        }
        row |= {name: json.dumps(value) for name, value in written.items()}
        self._insert("games", {**row, "finished": _now()})

    def matches(self) -> Iterator[StoredMatch]:
        """Every match that has games, oldest first."""
        for row in self.connection.execute("SELECT * FROM matches ORDER BY id").fetchall():
            *first_spec, first_hash = json.loads(row["first"])
            *second_spec, second_hash = json.loads(row["second"])
            if games := self.games(row["id"]):
                match = Match(AgentSpec(*first_spec), AgentSpec(*second_spec), row["bank"], games)
                hashes, config = (first_hash, second_hash), json.loads(row["config"])
                yield StoredMatch(match, hashes, config, row["referee"], row["seed"])


class Group(NamedTuple):
    """Matches that can be compared, because they have the same configuration and bank."""

    title: str
    config: dict[str, Any]
    tournament: Tournament
    edited: set[str]  # names of agents that exist in several versions


def groups(store: Store) -> list[Group]:
    """The store's matches in groups. If agents with the same label differ, their names get the start of their hash."""
    stored = list(store.matches())
    content: dict[str, set[str]] = {}
    for item in stored:
        for spec, digest in zip((item.match.first, item.match.second), item.hashes, strict=True):
            content.setdefault(spec.label, set()).add(digest)

    def name(spec: AgentSpec, digest: str) -> str:
        return spec.label if len(content[spec.label]) == 1 else f"{spec.label} {digest[:6]}"

    edited = {f"{label} {digest[:6]}" for label, digests in content.items() if len(digests) > 1 for digest in digests}

    found: dict[str, Group] = {}
    for item in stored:
        config, match = item.config, item.match
        changed = {key: value for key, value in config.items() if DEFAULTS.get(key) != value}
        size = f"{config['rows']}x{config['columns']}, {config['inarow']} in a row, bank {match.bank:g} s"
        title = size + "".join(f", {key}={value}" for key, value in changed.items() if key not in SIZES)
        group = found.setdefault(title, Group(title, config, Tournament([], []), edited))
        group.tournament.matches.append(match)
        group.tournament.names.append((name(match.first, item.hashes[0]), name(match.second, item.hashes[1])))
    return list(found.values())


def group_records(group: Group) -> list[tuple[GameRecord, str]]:
    """The games of a group, in the form that the analysis takes, each with its ending."""
    geometry, records = Rules(group.config).geometry, []
    for match, names in zip(group.tournament.matches, group.tournament.names, strict=True):
        records += [
            (match.record(number, geometry, names), game.ending) for number, game in sorted(match.games.items())
        ]
    return records


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _game(row: sqlite3.Row) -> Game:
    loads = json.loads(row["loads"])
    return Game(
        parse_columns(row["moves"]),
        row["opening"],
        tuple(json.loads(row["rewards"])),
        tuple(json.loads(row["statuses"])),
        tuple(json.loads(row["seconds"])),
        tuple(json.loads(row["banks"])),
        tuple(Fault(*fault) for fault in json.loads(row["faults"])),
        json.loads(row["ending"]),
        None if loads is None else tuple(loads),
    )
