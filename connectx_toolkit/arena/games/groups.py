"""The matches of a file of games, in groups that can be compared."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from connectx.geometry import Geometry
from connectx_toolkit.arena.games.database import GameDatabase
from connectx_toolkit.arena.games.rows import SIZES, rules_of
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.results.conditions import Conditions
from connectx_toolkit.arena.results.match import Match
from connectx_toolkit.arena.results.records import Game
from connectx_toolkit.arena.results.tournament import Tournament
from connectx_toolkit.foreign import NothingLeft, from_json, integer, noting, text
from connectx_toolkit.kaggle.rules import DEFAULTS


class StoredMatch(NamedTuple):
    """A match in the file; ``hashes`` distinguish agents with the same label."""

    match: Match
    hashes: tuple[str, str]
    config: dict[str, Any]
    reserve: float  # seconds of overage time
    conditions: Counter[Conditions]  # how many of its games were played under which

    @property
    def title(self) -> str:
        """The configuration and the overage time."""
        config = self.config
        changed = {key: value for key, value in config.items() if DEFAULTS.get(key) != value}
        size = f"{config['rows']}x{config['columns']}, {config['inarow']} in a row, {self.reserve:g} s overage time"
        return size + "".join(f", {key}={value}" for key, value in changed.items() if key not in SIZES)


def matches(database: GameDatabase) -> Iterator[StoredMatch]:
    """Every match that has games, oldest first."""
    for row in database.match_rows():
        with noting(database.left_out, f"{database.path}: match {row['id']}"):
            if games := database.match_games(row["id"]):
                yield _match(row, games, database.conditions(row["id"]))


def _match(row: sqlite3.Row, games: dict[int, Game], conditions: Counter[Conditions]) -> StoredMatch:
    """A row's match. Raises ValueError, and what else a damaged row may make Python raise."""
    agents = [[text(one, "an agent") for one in from_json(row[seat])] for seat in ("first", "second")]
    (first, first_hash), (second, second_hash) = [(AgentSpec(*spec), digest) for *spec, digest in agents]
    rules = rules_of(row["config"], row["reserve"])
    match = Match(first, second, games, seed=integer(row["seed"], "the seed"))
    return StoredMatch(match, (first_hash, second_hash), rules.config, rules.bank, conditions)


class Group(NamedTuple):
    """Matches that can be compared."""

    title: str
    config: dict[str, Any]
    tournament: Tournament
    edited: set[str]  # names of agents that exist in several versions
    conditions: Counter[Conditions]  # how many of its games were played under which


def groups(database: GameDatabase) -> list[Group]:
    """The file's matches in groups, each of one configuration and overage time.

    If agents with the same label differ, their names get the start of their hash.
    """
    stored = list(matches(database))
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


def grouped_games(path: Path, left_out: list[str], prefix: str = "") -> list[list[Game]]:
    """The games of a file: a list for each group of comparable matches, then one for each board of the ladder's.

    Args:
        left_out: of matches and games that cannot be read, why is added here.
        prefix: put before the names of matches' games, which are "3-12" for game 12 of match 3. Both count from 1.

    Raises:
        ValueError: the file is none of games, or holds none.
        NothingLeft: none of its games can be read.
    """
    with GameDatabase(path, create=False) as database:
        found, boards = [_prefixed(one, prefix) for one in groups(database)], defaultdict[Geometry, list[Game]](list)
        for game in database.games():
            boards[game.geometry].append(game)
    if not found and not boards:
        raise NothingLeft(database.left_out) if database.left_out else ValueError(f"{path} holds no games")
    left_out += database.left_out
    return [*found, *boards.values()]


def _prefixed(group: Group, prefix: str) -> list[Game]:
    games = [(game, Path(game.source)) for game in group_games(group)]
    return [replace(game, source=str(place.with_name(f"{prefix}{place.name}"))) for game, place in games]
