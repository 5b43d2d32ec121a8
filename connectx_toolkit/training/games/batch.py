"""A batch of games of one kind, played in parallel: the environment of the learners.

Trainers only use ``Games``. A kind of game defines three things: its sizes, the legal actions, and the effect of a
move. One object holds n games; arrays are indexed by game, and every call works on all games or on the chosen ones. One
step of vectorised play is

    boards, legal = games.boards(), games.legal()        # (n, rows, columns) and (n, actions)
    actions = ...                                        # (n,), chosen by the side to move in each game
    games.play(actions)                                  # or play(actions[which], which)
    over = np.flatnonzero(games.done)                    # read games.winner[over], then
    games.reset(over)                                    # start those again

An illegal action raises an exception. A trainer that allows illegal choices checks ``legal`` first and defines their
cost itself.
"""

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

FIRST, SECOND, NOBODY = 1, -1, 0  # values of ``winner`` and of the stones


class Games(ABC):
    """n games, each at its own ply. The first player moves on even plies.

    Attributes:
        rows, columns: size of the board that ``boards`` shows.
        actions: number of actions, legal or not; an action is an int in [0, actions).
        stones: (n, rows, columns) int8, FIRST's stones +1, SECOND's -1, 0 empty.
        plies: (n,) int64, moves played so far.
        done: (n,) bool, whether the game is over.
        winner: (n,) int8, FIRST or SECOND if the game is won; NOBODY if it is drawn or not over.
    """

    def __init__(self, count: int, rows: int, columns: int, actions: int):
        self.rows, self.columns, self.actions = rows, columns, actions
        self.stones = np.zeros((count, rows, columns), np.int8)
        self.plies = np.zeros(count, np.int64)
        self.done = np.zeros(count, bool)
        self.winner = np.zeros(count, np.int8)

    def __len__(self) -> int:
        return len(self.plies)

    @property
    def mover(self) -> np.ndarray:
        """(n,) int8: FIRST or SECOND, whose turn it is."""
        return np.where(self.plies % 2, SECOND, FIRST).astype(np.int8)

    def boards(self, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        """(n, rows, columns) int8: +1 stones of the side to move, -1 of the other side, 0 empty; row 0 is the top."""
        return self.stones[which] * self.mover[which, None, None]

    @abstractmethod
    def legal(self) -> np.ndarray:
        """(n, actions) bool. No action is legal in a game that is over."""

    @abstractmethod
    def _move(self, actions: np.ndarray, which: np.ndarray) -> None:
        """Plays legal actions: updates stones, plies, done, winner of the games ``which``, all distinct."""

    def play(self, actions: np.ndarray, which: np.ndarray | None = None) -> None:
        """Plays one action in each game of ``which``, distinct indices; in all games by default.

        Args:
            actions: (n,) or (len(which),) integers.

        Raises:
            ValueError: an action is not legal, or its game is over; nothing is played then.
        """
        # Always the same layout and dtype, so that a compiled move is compiled only once.
        which = np.ascontiguousarray(np.arange(len(self)) if which is None else which, np.int64)
        actions = np.ascontiguousarray(actions, np.int64)
        bad = (actions < 0) | (actions >= self.actions)
        bad |= ~self.legal()[which, np.where(bad, 0, actions)]
        if bad.any():
            index = int(np.flatnonzero(bad)[0])
            game = int(which[index])
            raise ValueError(
                f"action {int(actions[index])} is not legal in game {game} at ply {int(self.plies[game])}"
                + (", which is over" if self.done[game] else "")
            )
        self._move(actions, which)

    def forfeit(self, which: np.ndarray) -> None:
        """Ends the games ``which``, (k,) indices: the side to move loses them."""
        self.done[which], self.winner[which] = True, -self.mover[which]

    def reset(self, which: np.ndarray | slice = slice(None)) -> None:
        """Starts the chosen games again (all by default)."""
        self.stones[which] = 0
        self.plies[which] = 0
        self.done[which] = False
        self.winner[which] = NOBODY

    @abstractmethod
    def empty(self, count: int) -> Self:
        """``count`` new games of this kind and size."""

    def take(self, which: np.ndarray) -> Self:
        """Copies of the chosen games as a new batch; an index may occur more than once."""
        copy = self.empty(len(which))
        copy.stones, copy.plies = self.stones[which], self.plies[which]
        copy.done, copy.winner = self.done[which], self.winner[which]
        return copy

    def children(self) -> tuple[Self, np.ndarray, np.ndarray]:
        """(children, parents, actions): m games, one after each legal move; (m,) int64: the game and action of each."""
        parents, actions = np.nonzero(self.legal())
        children = self.take(parents)
        children.play(actions)
        return children, parents, actions
