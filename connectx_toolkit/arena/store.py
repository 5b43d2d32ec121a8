"""Matches in the file of games: those that are played here find their games in it, and add to them.

A match is identified by a digest of what it asks for: the agents with their fingerprints, configuration, overage time,
openings and seed. The same match finds its games; more pairs or another SPRT add to them. Each game is committed when
it ends, so a killed run can be resumed.
"""

import contextlib
import json
import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from math import inf

from connectx_core.position import Columns, write_columns
from connectx_toolkit.games.database import GameDatabase, now, row_of
from connectx_toolkit.games.game import Game
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.system.console import plural
from connectx_toolkit.system.cores import processor_and_cores
from connectx_toolkit.system.files import file_lock, version_of

PACKAGES = ("numpy", "numba", "torch", "kaggle-environments")


class MatchStore(GameDatabase):
    """The file of games, to which matches can be added."""

    def match_id(
        self, first: AgentSpec, second: AgentSpec, setup: Setup, openings: Sequence[Columns], seed: int, source: str
    ) -> int:
        """The id to add games of a match with, a new one if there is none. ``source``: where the openings come from."""
        hashed = [
            (spec._replace(target="") if spec.is_here else spec, spec.fingerprint())  # a callable's key does not last
            for spec in (first, second)
        ]
        config, reserve = json.dumps(setup.rules.config, sort_keys=True), setup.rules.overage
        decisive = [[spec.kind, spec.target, content] for spec, content in hashed]
        key = json.dumps([decisive, config, reserve, [*map(write_columns, openings)], seed])
        agents = [json.dumps([*spec, content]) for spec, content in hashed]
        row = {
            "key": sha256(key.encode()).hexdigest(), "first": agents[0], "second": agents[1], "config": config,
            "reserve": reserve, "seed": seed, "started": now(), "openings": source,
        }  # fmt: skip
        with self.connection:
            self.insert("matches", row, "ON CONFLICT DO UPDATE SET openings = excluded.openings")
        return self.connection.execute("SELECT id FROM matches WHERE key = :key", row).fetchone()["id"]

    def add_played(self, match: int, task: Task, game: Game, conditions: str = "") -> None:
        """Stores a match's game at once, unless one with its number is stored. ``conditions``: in a line."""
        row = row_of(replace(game, date=game.date or now(), source="")) | {
            "match": match, "number": task.number, "seeds": json.dumps(task.seeds), "conditions": conditions,
        }  # fmt: skip
        with self.connection:
            self.insert("games", row)

    def conditions(self, match: int, total: float = inf) -> Counter[str]:
        """How many of the first ``total`` games of a match were played under which conditions."""
        rows = "SELECT conditions, count(*) FROM games WHERE match = ? AND number < ? GROUP BY conditions"
        return Counter(dict(self.connection.execute(rows, [match, total]).fetchall()))

    @contextlib.contextmanager
    def turn(self, match: int, total: int) -> Iterator[dict[int, Game]]:
        """Keeps other processes from playing the match in the block; waits, and says so, while one of them does.

        Yields:
            Those of its ``total`` games that are stored when the turn comes, by number.
        """
        with file_lock(self.path, str(match), "another process is playing this match"):
            yield {number: game for number, game in self.match_games(match).items() if number < total}


def conditions_here(workers: int = 1, scheduler: str | None = None) -> str:
    """The conditions of games that are played now, in a line. On a dask cluster the versions are those of this process.

    The name of the host is no part of it: every new container has another one.
    """
    python = ".".join(platform.python_version_tuple()[:2])
    versions = [f"python {python}", *(f"{name} {version_of(name)}" for name in PACKAGES)]
    machine = f"{processor_and_cores()}, {workers} {plural('game', workers)} at a time"
    return ", ".join([*versions, machine if scheduler is None else f"dask cluster {scheduler}"])
