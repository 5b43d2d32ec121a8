"""A file's games in groups that can be compared: matches of one configuration, games of the ladder of one board."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from connectx_core.position import Geometry
from connectx_toolkit.games.database import GameDatabase, StoredMatch
from connectx_toolkit.games.game import Game
from connectx_toolkit.system.foreign import NothingLeft


def groups(database: GameDatabase) -> dict[str, list[StoredMatch]]:
    """The file's matches by their title: in groups, each of one configuration, overage time and source of openings.

    If agents with the same label differ, their labels get the start of their hash. Games have the labels as names.
    """
    stored, versions = list(database.matches()), defaultdict[str, set[str]](set)
    for match in stored:
        for agent in match.agents:
            versions[agent.label].add(agent.fingerprint)
    by_title = defaultdict[str, list[StoredMatch]](list)
    for match in stored:
        first, second = (
            agent._replace(label=f"{agent.label} {agent.fingerprint[:6]}") if len(versions[agent.label]) > 1 else agent
            for agent in match.agents
        )
        names = (first.label, second.label), (second.label, first.label)
        games = {number: replace(game, names=names[number % 2]) for number, game in match.games.items()}
        by_title[match.title].append(match._replace(agents=(first, second), games=games))
    return by_title


def group_games(matches: Sequence[StoredMatch]) -> list[Game]:
    """All games of a group."""
    return [game for match in matches for game in match.games.values()]


def latest_of(matches: Sequence[StoredMatch], count: int) -> list[Game]:
    """So many games of a group: the latest ones of each two agents, in turn; of each two at least one."""
    games, met = group_games(matches), defaultdict[frozenset[str], list[int]](list)
    for index, game in enumerate(games):
        met[frozenset(game.names)].insert(0, index)
    turns = [index for turn in zip_longest(*met.values()) for index in turn if index is not None]
    return [games[index] for index in sorted(turns[: max(count, len(met))])]


def match_groups(path: Path) -> tuple[dict[str, list[StoredMatch]], list[str]]:
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


def grouped_games(path: Path, prefix: str = "") -> tuple[list[list[Game]], list[str]]:
    """The games of a file: of each group of matches, then of each board of the ladder's; and why others are left out.

    Args:
        prefix: put before the names of matches' games, which are "3-12" for game 12 of match 3. Both count from 1.

    Raises:
        ValueError: the file is none of games, or holds none.
        NothingLeft: none of its games can be read.
    """
    with GameDatabase(path, create=False) as database:
        stored, boards = [*map(group_games, groups(database).values())], defaultdict[Geometry, list[Game]](list)
        for game in database.games():
            boards[game.geometry].append(game)
    if not stored and not boards:
        raise NothingLeft(database.left_out) if database.left_out else ValueError(f"{path} holds no games")
    for games in stored:
        for index, game in enumerate(games):
            place = Path(game.source)
            games[index] = replace(game, source=str(place.with_name(f"{prefix}{place.name}")))
    return [*stored, *boards.values()], database.left_out
