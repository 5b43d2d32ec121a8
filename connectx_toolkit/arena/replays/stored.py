"""Games of our own stores, in the record that Kaggle's replays give: one's own matches are reviewed as they are."""

from pathlib import Path

from connectx_toolkit.arena.replays.replay import Call, Replay
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


def stored_replays(path: Path, left_out: list[str], prefix: str = "") -> list[list[Replay]]:
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
    replays: list[list[Replay]] = []
    first = 1
    for group in found:
        names = [
            f"{prefix}{number}-{index + 1}"
            for number, match in enumerate(group.tournament.matches, first)
            for index in sorted(match.games)
        ]
        first += len(group.tournament.matches)
        replays.append([stored_replay(path, *one) for one in zip(names, group_games(group), strict=True)])
    return replays


def stored_replay(path: Path, name: str, game: Game) -> Replay:
    """A game of a store with what its clocks showed."""
    calls = {ply: Call(seconds) for ply, seconds in enumerate(game.measured) if seconds is not None}
    times = game.reserve, game.overage, calls
    return Replay(path, name, game, game.statuses, game.act_timeout, *times, game.fault_detail, is_stored=True)
