"""Games between a learner and its opponents, side by side: what all environments are made of.

The learner sees positions in which it is to move; the opponent's replies are part of the environment. Rewards are by
name:

    course      Kaggle's course "Intro to Game AI": +1 for a win, -1 for a loss or a draw, 1/42 (one over the number of
                cells) for any other move, -10 for an illegal column, which ends the game
    zero-sum    +1, -1, 0 for a draw and for moves on the way; -10 for an illegal column
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from connectx.geometry import Geometry
from connectx_toolkit.training.environments.observations import Observation
from connectx_toolkit.training.games.batch import FIRST, SECOND
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.players import Player

ENDINGS = ("won", "lost", "drawn", "illegal")  # how the learner's games end
SEATS = ("alternating", "first", "second")  # where the learner sits
REWARDS = ("course", "zero-sum")


class Rewards(NamedTuple):
    """What the learner gets for its move and the reply to it, by what they lead to."""

    win: float
    loss: float
    draw: float
    step: float
    illegal: float


def rewards_named(name: str, geometry: Geometry) -> Rewards:
    """The rewards of the module's docstring.

    Raises:
        ValueError: there are none of that name.
    """
    if name not in REWARDS:
        raise ValueError(f"rewards should be one of {', '.join(REWARDS)}, not {name!r}")
    if name == "course":
        return Rewards(1.0, -1.0, -1.0, 1 / geometry.cells, -10.0)
    return Rewards(1.0, -1.0, 0.0, 0.0, -10.0)


def check_seat(seat: str) -> None:
    """Raises ValueError if there is no such seat."""
    if seat not in SEATS:
        raise ValueError(f"seat should be one of {', '.join(SEATS)}, not {seat!r}")


def check_columns(columns: np.ndarray, geometry: Geometry) -> None:
    """Raises ValueError if one is no column of the board; that a column is full is for the rewards to say."""
    is_column = (columns >= 0) & (columns < geometry.columns) & (columns.dtype.kind in "iu")
    if not is_column.all():
        wrong = columns[~is_column].flat[0].item()
        raise ValueError(f"an action should be a column from 0 to {geometry.columns - 1}, not {wrong!r}")


class Duels:
    """n games between a learner and its opponents, always with the learner to move.

    Args:
        opponents: (weight, player): each new game draws one of them, as often as its weight says.
        rng: for these draws.
        seat: one of SEATS; where it alternates, the first game of a batch begins in the first seat, its neighbour in
            the second.

    Attributes:
        games: the positions.
        seats: (n,) int8, FIRST or SECOND: the learner's.

    Raises:
        ValueError: no such seat.
    """

    def __init__(
        self,
        count: int,
        opponents: Sequence[tuple[float, Player]],
        geometry: Geometry,
        rewards: Rewards,
        observation: Observation,
        rng: np.random.Generator,
        seat: str = "alternating",
    ):
        check_seat(seat)
        self.games, self.rewards, self.observation = ConnectX(count, geometry), rewards, observation
        self._alternates = seat == "alternating"
        is_first = np.arange(count) % 2 == 1 if self._alternates else np.full(count, seat == "first")
        self.seats = np.where(is_first, FIRST, SECOND).astype(np.int8)  # those that alternate change at once
        weights = np.array([weight for weight, _ in opponents], float)
        self._chances, self._players, self._rng = weights / weights.sum(), [p for _, p in opponents], rng
        self._against = np.zeros(count, np.int64)
        self.restart(np.arange(count))

    def restart(self, which: np.ndarray) -> None:
        """Starts the games ``which``, (k,) indices, again; in the other seat where seats alternate."""
        self.games.reset(which)
        if self._alternates:
            self.seats[which] *= -1
        self._against[which] = self._rng.choice(len(self._players), len(which), p=self._chances)
        self._reply(which[self.seats[which] == SECOND])

    def step(self, columns: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Plays the learner's columns, (k,), in the games ``which``, (k,) indices, and the opponents' replies.

        Returns:
            rewards, (k,) float32, and endings, (k,) int8: an index into ENDINGS, -1 for a game that goes on. Games that
            ended stay as they are until ``restart``.

        Raises:
            ValueError: one is no column of the board.
        """
        check_columns(columns, self.games.geometry)
        games = self.games
        illegal = ~games.legal()[which, columns]
        games.play(columns[~illegal], which[~illegal])
        self._reply(which[~illegal & ~games.done[which]])
        done, winner, seat = games.done[which], games.winner[which], self.seats[which]
        endings = np.select([illegal, ~done, winner == seat, winner == -seat], [3, -1, 0, 1], 2).astype(np.int8)
        rewards = self.rewards
        by_ending = [rewards.win, rewards.loss, rewards.draw, rewards.illegal, rewards.step]  # -1 is the last: step
        return np.array(by_ending, np.float32)[endings], endings

    def legal(self) -> np.ndarray:
        """(n, columns) bool."""
        return self.games.legal()

    def observe(self) -> np.ndarray:
        """(n, *shape): what the learner sees of each game."""
        return self.observation.of(self.games.stones, self.seats)

    def _reply(self, which: np.ndarray) -> None:
        for number, player in enumerate(self._players):
            share = which[self._against[which] == number]
            if len(share):
                self.games.play(player(self.games, share), share)
