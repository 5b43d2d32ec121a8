"""Finds games by their names on the command line."""

import re

from connectx.geometry import geometry_of
from connectx_toolkit.training.games.batch import Games
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.nim import Nim
from connectx_toolkit.training.games.tictactoe import TicTacToe

NAMES = "nim, tictactoe, or ROWSxCOLUMNSkINAROW such as 6x7k4 for ConnectX"


def games_named(name: str, count: int = 1) -> Games:
    """``count`` new games.

    Raises:
        ValueError: there is no game of this name.
    """
    if name == "nim":
        return Nim(count)
    if name == "tictactoe":
        return TicTacToe(count)
    size = re.fullmatch(r"(\d+)x(\d+)k(\d+)", name)
    if size is None:
        raise ValueError(f"the game should be {NAMES}, not {name!r}")
    return ConnectX(count, geometry_of(*map(int, size.groups())))
