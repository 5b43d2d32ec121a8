"""Tic-tac-toe as a batch of games; an action is a cell, row by row from the top left."""

from typing import Self

import numpy as np

from connectx_toolkit.training.games.batch import Games

SIDE = 3
CELLS = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
LINES = np.array([*CELLS, *CELLS.T, CELLS.diagonal(), np.fliplr(CELLS).diagonal()])  # (8, 3) cells


class TicTacToe(Games):
    """n games on the board of 3 x 3."""

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
