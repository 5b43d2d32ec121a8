"""Nim with one heap as a batch of games: the player who takes the last token loses. Action a takes a + 1 tokens.

A position with n tokens is lost for the side to move if and only if n modulo (most tokens at once + 1) is 1.
"""

from typing import Self

import numpy as np

from connectx_toolkit.training.games.batch import Games


class Nim(Games):
    """n games. The board is a row of cells; tokens are taken from the left, and their cells are 1. Tokens have no side.

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
