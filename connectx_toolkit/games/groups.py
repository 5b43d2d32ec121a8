"""A file's games in groups that can be compared: matches of one configuration, games of the ladder of one board."""

from collections import defaultdict
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from connectx_core.position import Geometry
from connectx_toolkit.games.database import GameDatabase, StoredAgent, StoredMatch
from connectx_toolkit.games.game import Game
from connectx_toolkit.system.foreign import NothingLeft


class Group(NamedTuple):
    """Matches that can be compared."""

    title: str
    config: dict[str, Any]
    matches: list[StoredMatch]
    names: list[tuple[str, str]]  # of the first and second agent of each match
    edited: set[str]  # names of agents that exist in several versions

    def games(self) -> list[Game]:
        """All its games, under the names that its agents have here."""
        return [
            replace(game, names=names[::-1] if number % 2 else names)
            for match, names in zip(self.matches, self.names, strict=True)
            for number, game in sorted(match.games.items())
        ]

    def latest(self, count: int) -> list[Game]:
        """So many of its games: the latest ones of each two agents, in turn; of each two at least one."""
        games, met = self.games(), defaultdict[frozenset[str], list[int]](list)
        for index, game in enumerate(games):
            met[frozenset(game.names)].insert(0, index)
        turns = [index for turn in zip_longest(*met.values()) for index in turn if index is not None]
        return [games[index] for index in sorted(turns[: max(count, len(met))])]


def groups(database: GameDatabase) -> list[Group]:
    """The file's matches in groups, each of one configuration and overage time.

    If agents with the same label differ, their names get the start of their hash.
    """
    stored = list(database.matches())
    content: dict[str, set[str]] = {}
    for match in stored:
        for agent in match.agents:
            content.setdefault(agent.label, set()).add(agent.fingerprint)

    def name(agent: StoredAgent) -> str:
        version = f" {agent.fingerprint[:6]}" if len(content[agent.label]) > 1 else ""
        return f"{agent.label}{version}"

    edited = {name(agent) for match in stored for agent in match.agents if len(content[agent.label]) > 1}
    by_key: dict[str, list[StoredMatch]] = {}
    for match in stored:
        by_key.setdefault(match.title, []).append(match)
    return [
        Group(title, matches[0].config, matches, [(name(m.agents[0]), name(m.agents[1])) for m in matches], edited)
        for title, matches in by_key.items()
    ]


def groups_in(path: Path) -> tuple[list[Group], list[str]]:
    """A file's groups of matches, and why matches and games that cannot be read are left out.

    Raises:
        ValueError: the file is none of games, or holds none of matches.
        NothingLeft: none of its matches can be read.
    """
    with GameDatabase(path, create=False) as database:
        found = groups(database)
    if not found:
        raise NothingLeft(database.left_out) if database.left_out else ValueError(f"{path} holds no games of matches")
    return found, database.left_out


class Grouped(NamedTuple):
    """The games of a file."""

    groups: list[list[Game]]  # one for each group of comparable matches, then one for each board of the ladder's
    left_out: list[str]  # why, of matches and games that cannot be read


def grouped_games(path: Path, prefix: str = "") -> Grouped:
    """The games of a file.

    Args:
        prefix: put before the names of matches' games, which are "3-12" for game 12 of match 3. Both count from 1.

    Raises:
        ValueError: the file is none of games, or holds none.
        NothingLeft: none of its games can be read.
    """
    with GameDatabase(path, create=False) as database:
        stored, boards = [group.games() for group in groups(database)], defaultdict[Geometry, list[Game]](list)
        for game in database.games():
            boards[game.geometry].append(game)
    if not stored and not boards:
        raise NothingLeft(database.left_out) if database.left_out else ValueError(f"{path} holds no games")
    for games in stored:
        for index, game in enumerate(games):
            place = Path(game.source)
            games[index] = replace(game, source=str(place.with_name(f"{prefix}{place.name}")))
    return Grouped([*stored, *boards.values()], database.left_out)
