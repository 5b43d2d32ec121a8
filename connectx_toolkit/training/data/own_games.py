"""One's own games as second player, from a file of games."""

from pathlib import Path
from typing import NamedTuple

from connectx.geometry import STANDARD
from connectx.notation import Columns
from connectx_toolkit.arena.games.database import GameDatabase
from connectx_toolkit.arena.games.sources import own_name
from connectx_toolkit.foreign import left_out_lines


class Met(NamedTuple):
    """A game in which we moved second."""

    opponent: str
    columns: Columns
    points: float  # ours


def own_games_in(path: Path, me: str) -> list[Met]:
    """The games of 7x6 that were played to their end, from the empty board, with "me" as second player.

    Rows that cannot be read are named.

    Args:
        me: a player's name; "" is whose games they are, as far as the file tells.

    Raises:
        ValueError: it is no file of games, does not tell whose they are, or has no such games.
    """
    if not path.exists():
        raise ValueError(f"no file of games {path}: python evaluate.py explore --add FOLDER makes one of your replays")
    with GameDatabase(path, create=False) as database:
        name = own_name(database, me or None)
        found = [
            Met(game.names[0], game.moves, game.points[1])
            for game in database.games(me=name, seat=1)
            if game.geometry == STANDARD and game.points and not (game.opening or game.fault) and game.names[0] != name
        ]
        count = len(database)
    for line in left_out_lines(database.left_out):
        print(line)
    if not found:
        what = f"none of its {count} games is a finished game of 7x6, without a fault, with {name!r} as second player"
        raise ValueError(f"{path}: {what}. Add replays with explore --add, or pass --me NAME")
    return found
