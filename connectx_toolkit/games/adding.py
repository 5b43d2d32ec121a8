"""Adds the games of folders and replays to the file of games, one by one; and whose games they are."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from connectx_toolkit.games.database import GameDatabase, is_database
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.reader import replay_paths, replays_of
from connectx_toolkit.games.review import name_in, name_in_all
from connectx_toolkit.system.console import as_option
from connectx_toolkit.system.foreign import NothingLeft


class Added(NamedTuple):
    """What came of adding games."""

    new: int
    known: int  # that were there before, or that came twice
    whole: int  # games of the ladder that the file holds now
    left_out: list[str]  # why, of what is no game of ConnectX


def add_from(path: Path, what: Sequence[str], me: str = "") -> Added:
    """Adds the games of folders and replays to a file of games, which is made if there is none.

    They are read while they are added: what was added before an interruption stays.

    Raises:
        ValueError: there is nothing of that name, or the file of games is another file.
        NothingLeft: there is no game in all of it; the file of games is not touched.
    """
    read, paths = 0, replay_paths(what)
    games = as_option("games")
    left_out = [f"{one} is a file of games, not a replay: {games} reads it" for one in paths if is_database(one)]
    replays = chain.from_iterable(replays_of(one, left_out) for one in paths if not is_database(one))
    first = next(replays, None)
    if first is None:
        raise NothingLeft(left_out)

    def counted() -> Iterator[Game]:
        nonlocal read
        for replay in chain([first], replays):
            read += 1
            yield replay

    with GameDatabase(path) as database:
        new = database.add(counted(), me)
        known = read - new - len(database.left_out)
        return Added(new, known, len(database), [*left_out, *database.left_out])


def own_name(database: GameDatabase, wanted: str | None) -> str:
    """Whose games these are: as asked for, as said when they were added, or the one name in all of them.

    Raises:
        ValueError: that is not known; in words that say how to choose.
    """
    names, owners = database.names(), database.owners()
    if wanted is not None:
        return name_in(names, wanted)
    if owners:
        return owners.most_common(1)[0][0]
    return name_in_all(names, len(database))
