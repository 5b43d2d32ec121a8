"""Nim and tic-tac-toe as batches of games, and all games by their names on the command line."""

import re
from typing import Self

import numpy as np

from connectx.geometry import Geometry, geometry_of
from connectx_toolkit.training.games.batch import Games
from connectx_toolkit.training.games.connectx import ConnectX

NAMES = "nim, tictactoe, or ROWSxCOLUMNSkINAROW such as 6x7k4 for ConnectX"
BOARD = re.compile(r"(\d+)x(\d+)k(\d+)")
SIDE = 3
CELLS = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
LINES = np.array([*CELLS, *CELLS.T, CELLS.diagonal(), np.fliplr(CELLS).diagonal()])  # (8, 3) cells


class Nim(Games):
    """Nim with one heap: the player who takes the last token loses. Action a takes a + 1 tokens.

    The board is a row of cells; tokens are taken from the left, and their cells are 1. Tokens have no side. A position
    with n tokens is lost for the side to move if and only if n modulo (most tokens at once + 1) is 1.

    Raises:
        ValueError: ``tokens`` or ``most`` is below 1.
    """

    def __init__(self, count: int, tokens: int = 9, most: int = 3):
        if tokens < 1 or most < 1:
            raise ValueError(f"Nim needs at least one token, and one to take: tokens {tokens}, most {most}")
        super().__init__(count, 1, tokens, most)

    def boards(self, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        """(n, 1, tokens) int8: 1 where a token has been taken, for both sides."""
        return self.stones[which].copy()

    def left(self) -> np.ndarray:
        """(n,) int64: the number of tokens left."""
        return self.columns - self.stones.sum((1, 2), dtype=np.int64)

    def legal(self) -> np.ndarray:
        return np.arange(self.actions) < self.left()[:, None]

    def empty(self, count: int) -> Self:
        return type(self)(count, self.columns, self.actions)

    def _move(self, actions: np.ndarray, which: np.ndarray) -> None:
        taken = self.columns - self.left()[which] + actions + 1
        self.stones[which, 0] = np.arange(self.columns) < taken[:, None]
        over = taken == self.columns
        self.winner[which[over]] = -self.mover[which][over]
        self.done[which] = over
        self.plies[which] += 1


class TicTacToe(Games):
    """The board of 3 x 3; an action is a cell, row by row from the top left."""

    def __init__(self, count: int):
        super().__init__(count, SIDE, SIDE, SIDE * SIDE)

    def legal(self) -> np.ndarray:
        return (self.stones.reshape(-1, self.actions) == 0) & ~self.done[:, None]

    def empty(self, count: int) -> Self:
        return type(self)(count)

    def _move(self, actions: np.ndarray, which: np.ndarray) -> None:
        movers = self.mover[which]
        self.stones[which, actions // SIDE, actions % SIDE] = movers
        self.plies[which] += 1
        cells = self.stones[which].reshape(-1, self.actions)
        won = (cells[:, LINES] == movers[:, None, None]).all(2).any(1)
        self.winner[which[won]] = movers[won]
        self.done[which] = won | (self.plies[which] == self.actions)


def geometry_named(name: str) -> Geometry:
    """The board of a name such as 6x7k4: rows x columns k inarow. Raises ValueError if there is none."""
    size = BOARD.fullmatch(name)
    if size is None:
        raise ValueError(f"board should read like 6x7k4, not {name!r}")
    return geometry_of(*map(int, size.groups()))


def games_named(name: str, count: int = 1) -> Games:
    """``count`` new games.

    Raises:
        ValueError: there is no game of this name.
    """
    if name == "nim":
        return Nim(count)
    if name == "tictactoe":
        return TicTacToe(count)
    if not BOARD.fullmatch(name):
        raise ValueError(f"the game should be {NAMES}, not {name!r}")
    return ConnectX(count, geometry_named(name))
