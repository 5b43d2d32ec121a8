"""ConnectX as a gymnasium environment, and the batch of games between a learner and its opponents that it is made of.

The learner sees positions in which it is to move; the opponent's replies are part of the environment. Seats alternate
from game to game. Rewards are by name:

    course      Kaggle's course "Intro to Game AI": +1 for a win, -1 for a loss or a draw, 1/42 (one over the number of
                cells) for any other move, -10 for an illegal column, which ends the game
    zero-sum    +1, -1, 0 for a draw and for moves on the way; -10 for an illegal column
"""

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces

from connectx.encoding import encode_many, planes_of
from connectx.geometry import STANDARD, Geometry
from training.games.batch import FIRST, SECOND
from training.games.connectx import ConnectX
from training.games.opponents import opponent_named
from training.games.players import Player

ENCODING = "facts-1"  # what the learner sees unless told otherwise
ENDINGS = ("won", "lost", "drawn", "illegal")  # how the learner's games end


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
    known = {
        "course": Rewards(1.0, -1.0, -1.0, 1 / geometry.cells, -10.0),
        "zero-sum": Rewards(1.0, -1.0, 0.0, 0.0, -10.0),
    }
    if name not in known:
        raise ValueError(f"rewards should be one of {', '.join(known)}, not {name!r}")
    return known[name]


class Duels:
    """n games between a learner and its opponents, always with the learner to move.

    Args:
        opponents: (number of games, player), in the order of the games.

    Attributes:
        games: the positions.
        seats: (n,) int8, FIRST or SECOND: the learner's; the first game of a batch has the first seat.
    """

    def __init__(
        self,
        opponents: list[tuple[int, Player]],
        geometry: Geometry,
        rewards: Rewards,
        encoding: str = ENCODING,
    ):
        count = sum(share for share, _ in opponents)
        self.games, self.rewards, self.encoding = ConnectX(count, geometry), rewards, encoding
        self.seats = np.where(np.arange(count) % 2, FIRST, SECOND).astype(np.int8)
        ends = np.cumsum([share for share, _ in opponents])
        self._opponents = [(end - share, end, opponent) for end, (share, opponent) in zip(ends, opponents, strict=True)]
        self.restart(np.arange(count))

    def restart(self, which: np.ndarray) -> None:
        """Starts the games ``which``, (k,) indices, again, in the other seat."""
        self.games.reset(which)
        self.seats[which] *= -1
        self._reply(which[self.seats[which] == SECOND])

    def step(self, columns: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Plays the learner's columns, (k,), in the games ``which``, (k,) indices, and the opponents' replies.

        Returns:
            rewards, (k,) float32, and endings, (k,) int8: an index into ENDINGS, -1 for a game that goes on. Games that
            ended stay as they are until ``restart``.
        """
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
        """(n, planes * rows * columns) float32: what the learner sees, the planes of connectx.encoding in one row."""
        planes = encode_many(*self.games.bitboards(), self.games.geometry, self.encoding)
        return planes.reshape(len(planes), -1).astype(np.float32)

    def _reply(self, which: np.ndarray) -> None:
        for start, end, opponent in self._opponents:
            share = which[(which >= start) & (which < end)]
            if len(share):
                self.games.play(opponent(self.games, share), share)


def observation_space(geometry: Geometry, encoding: str) -> spaces.Box:
    """(planes * rows * columns,) float32: the planes of connectx.encoding in one row, as networks without convolutions
    read them. (What has the shape of a picture would have to be one, by stable-baselines3's checker.)

    Raises:
        ValueError: the encoding is unknown, or the board does not fit 64 bits.
    """
    if not geometry.fits_word:
        raise ValueError(f"a board of {geometry[:3]} (rows, columns, inarow) does not fit 64 bits")
    return spaces.Box(0.0, 1.0, (planes_of(encoding) * geometry.cells,), np.float32)


class ConnectXEnv(gymnasium.Env):
    """One game at a time, for any library that speaks gymnasium. An action is a column.

    Args:
        opponent: a name, as training.games.opponents has them, or a player of training.games.players.
        rewards: "course" or "zero-sum".
        encoding: of connectx.encoding.

    Raises:
        ValueError: a name is unknown, or the board does not fit 64 bits.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - gymnasium's own form

    def __init__(
        self,
        opponent: str | Player = "random",
        geometry: Geometry = STANDARD,
        rewards: str = "course",
        encoding: str = ENCODING,
        render_mode: str | None = None,
    ):
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode should be None or 'ansi', not {render_mode!r}")
        self.render_mode = render_mode
        self.observation_space = observation_space(geometry, encoding)
        self.action_space = spaces.Discrete(geometry.columns)
        self._opponent, self._geometry = opponent, geometry
        self._rewards, self._encoding = rewards_named(rewards, geometry), encoding
        self._duels = self._begin()

    def _begin(self) -> Duels:
        player = self._opponent
        if isinstance(player, str):
            player = opponent_named(player, self._geometry, self.np_random)
        return Duels([(1, player)], self._geometry, self._rewards, self._encoding)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """A new game, in the other seat than the last one; with a seed, in the first."""
        super().reset(seed=seed)
        if seed is None:
            self._duels.restart(np.arange(1))
        else:
            self._duels = self._begin()
        return self._duels.observe()[0], {"action_mask": self.action_masks().astype(np.int8)}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Plays a column and the reply to it. The info names how the game ended, and which columns are legal."""
        rewards, endings = self._duels.step(np.array([action]), np.arange(1))
        info: dict[str, Any] = {"action_mask": self.action_masks().astype(np.int8)}
        if endings[0] >= 0:
            info["ending"] = ENDINGS[endings[0]]
        return self._duels.observe()[0], float(rewards[0]), bool(endings[0] >= 0), False, info

    def action_masks(self) -> np.ndarray:
        """(columns,) bool: the legal columns; none after the end."""
        return self._duels.legal()[0]

    def render(self) -> str:  # type: ignore[override]
        """The board as text: X the first player's stones, O the second's."""
        return "\n".join("".join(".XO"[stone] for stone in row) for row in self._duels.games.stones[0])
