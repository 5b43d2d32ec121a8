"""Games of our own stores, each with a name: one's own matches are reviewed as Kaggle's replays are."""

from dataclasses import replace
from pathlib import Path

from connectx_toolkit.arena.results.records import Game
from connectx_toolkit.arena.results.store import Store, group_games, groups
from connectx_toolkit.foreign import NothingLeft

HEADER = b"SQLite format 3\0"


def is_store(path: Path) -> bool:
    """Whether a file is an SQLite database, as stores are."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(HEADER)) == HEADER


def stored_games(path: Path, left_out: list[str], prefix: str = "") -> list[list[Game]]:
    """The games of a store: a list for each group of comparable matches, the latest game last.

    Args:
        left_out: of matches and games that cannot be read, why is added here.
        prefix: put before the games' names, which are "3-12" for game 12 of match 3. Both are counted from 1.

    Raises:
        ValueError: the file is no store, or holds no games.
        NothingLeft: none of its games can be read.
    """
    with Store(path, create=False) as store:
        found = groups(store)
    if not found and store.left_out:
        raise NothingLeft(store.left_out)
    if not found:
        raise ValueError(f"{path} holds no games")
    left_out += store.left_out
    first, named = 1, list[list[Game]]()
    for group in found:
        names = [
            f"{prefix}{number}-{index + 1}"
            for number, match in enumerate(group.tournament.matches, first)
            for index in sorted(match.games)
        ]
        first += len(group.tournament.matches)
        games = zip(group_games(group), names, strict=True)
        named.append([replace(game, source=str(path / name)) for game, name in games])
    return named
