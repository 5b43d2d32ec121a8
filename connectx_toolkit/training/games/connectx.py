"""ConnectX of any size as a batch of games; an action is a column."""

from typing import Self

import numpy as np

from connectx.geometry import Geometry
from connectx.jit import njit
from connectx_toolkit.training.games.batch import Games


@njit
def line_through(stones, row, column, inarow):
    """Whether the stone at (row, column) is in a line of at least ``inarow``. stones: (rows, columns) int8."""
    rows, columns = stones.shape
    mark = stones[row, column]
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        length = 1
        for sign in (1, -1):
            r, c = row + sign * down, column + sign * right
            while 0 <= r < rows and 0 <= c < columns and stones[r, c] == mark:
                length += 1
                r, c = r + sign * down, c + sign * right
        if length >= inarow:
            return True
    return False


@njit
def drop(stones, plies, done, winner, actions, which, inarow):
    """Drops a stone of the mover in column actions[i] of game which[i]; the column must not be full."""
    rows, columns = stones.shape[1:]
    for index in range(len(which)):
        game, column = which[index], actions[index]
        mark = -1 if plies[game] % 2 else 1
        row = rows - 1
        while stones[game, row, column] != 0:
            row -= 1
        stones[game, row, column] = mark
        plies[game] += 1
        if line_through(stones[game], row, column, inarow):
            done[game], winner[game] = True, mark
        elif plies[game] == rows * columns:
            done[game] = True


def bitboards(boards: np.ndarray, geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """(position, mask), (n,) int64 each, as in ``connectx.position``; the board must fit 64 bits.

    Args:
        boards: (n, rows, columns) int8, +1 stones of the side to move, -1 of the other side.
    """
    rows, columns = np.indices((geometry.rows, geometry.columns))
    bits = np.int64(1) << (columns * geometry.stride + geometry.rows - 1 - rows)
    return ((boards == 1) * bits).sum((1, 2)), ((boards != 0) * bits).sum((1, 2))


class ConnectX(Games):
    """n games on the board of a geometry, of any size."""

    def __init__(self, count: int, geometry: Geometry):
        super().__init__(count, geometry.rows, geometry.columns, geometry.columns)
        self.geometry = geometry

    def legal(self) -> np.ndarray:
        return (self.stones[:, 0] == 0) & ~self.done[:, None]

    def empty(self, count: int) -> Self:
        return type(self)(count, self.geometry)

    def _move(self, actions: np.ndarray, which: np.ndarray) -> None:
        drop(self.stones, self.plies, self.done, self.winner, actions, which, self.geometry.inarow)

    def bitboards(self, which: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """The bitboards of the chosen games, as ``bitboards`` gives them."""
        return bitboards(self.boards(which), self.geometry)
