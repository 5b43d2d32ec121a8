"""Games between a learner and its opponents, side by side: what all environments are made of, and their options.

The learner sees positions in which it is to move; the opponent's replies are part of the environment.

An opponent is a name of ``python evaluate.py list`` (also minimax@4, minimax@4~10, NAME~10), the path of a Python file,
a function ``agent(obs, config)``, ITSELF, or a mixture of these: a list, or names with "+" between them. Each game
draws one of a mixture. A file is loaded for each game; a function is one for all games. What draws from the global
generators of random, numpy or torch draws what the environment's seed says. An opponent that raises, or chooses a full
column, loses the game, as at Kaggle. ITSELF is the policy that learns, or a version of it, as ``set_policy`` was told
last; until then it plays at random.

Rewards are by name:

    course      Kaggle's course "Intro to Game AI": +1 for a win, -1 for a loss or a draw, 1/42 (one over the number of
                cells) for any other move, -10 for an illegal column, which ends the game
    zero-sum    +1, -1, 0 for a draw and for moves on the way; -10 for an illegal column

What a learner sees of a board is chosen by name, too, as arrays with their gymnasium spaces:

course      (1, rows, columns) int64: the board as Kaggle shows it, 1 the first player's stones, 2 the second's, row
            0 at the top, as Kaggle's course "Intro to Game AI" has it. It does not tell whose stones are whose.
sides       the same, but 1 the learner's stones and 2 the opponent's, whoever began
ENCODING    (planes, rows, columns) uint8, 0 and 1: the planes of connectx_core.encoding, row 0 at the bottom
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from connectx_core.encoding import ENCODINGS, encode_many, planes_of
from connectx_core.position import Geometry, geometry_of
from connectx_toolkit.training.opponents import AgentPlayer, function_of_file, opponent_named
from connectx_toolkit.training.vector_games import (
    FIRST,
    SECOND,
    ConnectX,
    Games,
    Player,
    bitboards,
    play_actions,
    random_player,
)

OBSERVATIONS = ("course", "sides", *ENCODINGS)


class Observation(NamedTuple):
    """A form of seeing.

    ``of(stones, seats)`` is what the players ``seats``, (n,) of FIRST and SECOND, see of n boards: (n, *space.shape).
    ``stones`` are those of connectx_toolkit.training.vector_games: (n, rows, columns) int8.
    """

    space: spaces.Box
    of: Callable[[np.ndarray, np.ndarray], np.ndarray]


def observation_named(name: str, geometry: Geometry) -> Observation:
    """The observation of that name. Its space says so, in an attribute ``shows`` that models are saved with.

    Raises:
        ValueError: there is none, or it is an encoding and the board does not fit 64 bits.
    """
    check_among("observation", name, OBSERVATIONS)
    is_course, is_cells = name == "course", name in ("course", "sides")
    if not (is_cells or geometry.fits_word):
        raise ValueError(f"a board of {geometry[:3]} (rows, columns, inarow) does not fit the 64 bits of {name}")
    planes, dtype = (1, np.int64 if is_course else np.int8) if is_cells else (planes_of(name), np.uint8)
    space = spaces.Box(0, 2 if is_cells else 1, (planes, geometry.rows, geometry.columns), dtype)
    vars(space)["shows"] = name  # shape and type alone do not tell it

    def see(stones: np.ndarray, seats: np.ndarray) -> np.ndarray:
        shown = stones if is_course else stones * seats[:, None, None]
        if not is_cells:
            return encode_many(*bitboards(shown, geometry), geometry, name)
        return np.where(shown < 0, 2, shown)[:, None].astype(dtype)

    return Observation(space, see)


ENDINGS = ("won", "lost", "drawn", "illegal")  # how the learner's games end
SEAT_CHOICES = ("alternating", "first", "second")  # where the learner sits
REWARDS = ("course", "zero-sum")
ITSELF = "self"

# Columns, (k,) integers, legal or not, for observations, (k, *shape), and legal columns, (k, columns) bool.
Policy = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Weighted(NamedTuple):
    """A player of training.vector_games with its weight in a mixture, where what is named has a weight of 1."""

    weight: float
    player: Player


def check_among(name: str, value: str | None, allowed: tuple) -> None:
    """Raises ValueError if an option has a value that is not allowed."""
    if value not in allowed:
        raise ValueError(f"{name} should be one of {', '.join(map(str, allowed))}, not {value!r}")


def check_columns(columns: np.ndarray, geometry: Geometry) -> None:
    """Raises ValueError if one is no column of the board; that a column is full is for the rewards to say."""
    is_column = (columns >= 0) & (columns < geometry.columns) & (columns.dtype.kind in "iu")
    if not is_column.all():
        wrong = columns[~is_column].flat[0].item()
        raise ValueError(f"an action should be a column from 0 to {geometry.columns - 1}, not {wrong!r}")


@dataclass
class Setting:
    """The options of every environment: see the module.

    Attributes:
        seat: one of SEAT_CHOICES: the learner's.
        policy: what ITSELF plays; at random if None.

    Raises:
        ValueError: a name is unknown, the board is none, or does not fit the observation.
        OSError: a file cannot be read.
    """

    opponent: Any = "random"
    seat: str = "alternating"
    rewards: str = "course"
    observation: str = "sides"
    rows: int = 6
    columns: int = 7
    inarow: int = 4
    policy: Policy | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_among("seat", self.seat, SEAT_CHOICES)
        check_among("rewards", self.rewards, REWARDS)
        self.geometry: Geometry = geometry_of(self.rows, self.columns, self.inarow)
        self.seen: Observation = observation_named(self.observation, self.geometry)
        self._members = [check_member(member) for member in parts(self.opponent)]
        self.players(np.random.default_rng())  # whatever is wrong is said now

    def players(self, rng: np.random.Generator) -> list[Weighted]:
        """The opponents, which draw all that is random from ``rng``."""
        return [each if isinstance(each, Weighted) else Weighted(1, self._player(each, rng)) for each in self._members]

    def _player(self, opponent: Any, rng: np.random.Generator) -> Player:
        if opponent == ITSELF:
            return self._itself(rng)
        if isinstance(opponent, Path):
            return AgentPlayer(partial(function_of_file, opponent), self.geometry, rng)
        if callable(opponent):
            return AgentPlayer(lambda: opponent, self.geometry, rng)
        if not isinstance(opponent, str):
            raise ValueError(f"opponent should be a name, a file, a function or a list of these, not {opponent!r:.80}")
        return opponent_named(opponent, self.geometry, rng)

    def _itself(self, rng: np.random.Generator) -> Player:
        """The policy, as it is when it is asked, as a player. Where its column is not legal, a random one is played."""
        at_random = random_player(rng)

        def player(games: Games, which: np.ndarray) -> np.ndarray:
            columns = at_random(games, which)
            if self.policy is None:
                return columns
            legal = games.legal()[which]
            chosen = np.asarray(self.policy(self.seen.of(games.stones[which], games.mover[which]), legal))
            return np.where(legal[np.arange(len(which)), chosen], chosen, columns)

        return player

    def by_ending(self) -> np.ndarray:
        """(len(ENDINGS) + 1,) float32: the learner's reward for each ending, and in the last place for other moves."""
        is_course = self.rewards == "course"
        draw, step = (-1.0, 1 / self.geometry.cells) if is_course else (0.0, 0.0)
        return np.array([1.0, -1.0, draw, -10.0, step], np.float32)


def parts(opponent: Any) -> Iterator[Any]:
    """The members of a mixture; of anything else, itself. Raises ValueError if there are none."""
    if isinstance(opponent, str) and "+" in opponent and not Path(opponent).is_file():
        yield from opponent.split("+")
    elif isinstance(opponent, list | tuple) and not isinstance(opponent, Weighted):
        if not opponent:
            raise ValueError("a mixture of opponents should have at least one")
        yield from opponent
    else:
        yield opponent


def check_member(opponent: Any) -> Any:
    """The path of a file that holds an agent; anything else as it is. Raises as ``function_of_file``."""
    if not (isinstance(opponent, str | os.PathLike) and Path(opponent).suffix == ".py"):
        return opponent
    function_of_file(Path(opponent))
    return Path(opponent).resolve()


class Duels:
    """n games between a learner and its opponents, always with the learner to move.

    Where seats alternate, the first game of a batch begins in the first seat, its neighbour in the second.

    Args:
        rng: for all that is random. Each new game draws one of the opponents, as often as its weight says.

    Attributes:
        games: the positions.
        seats: (n,) int8, FIRST or SECOND: the learner's.
    """

    def __init__(self, setting: Setting, count: int, rng: np.random.Generator):
        self.games, self._setting = ConnectX(count, setting.geometry), setting
        self._alternates = setting.seat == "alternating"
        is_first = np.arange(count) % 2 == 1 if self._alternates else np.full(count, setting.seat == "first")
        self.seats = np.where(is_first, FIRST, SECOND).astype(np.int8)  # those that alternate change at once
        weights, self._players = zip(*setting.players(rng), strict=True)
        self._chances, self._rng = np.array(weights, float) / sum(weights), rng
        self._against = np.zeros(count, np.int64)
        self.restart(np.arange(count))

    def restart(self, which: np.ndarray) -> None:
        """Starts the games ``which``, (k,) indices, again; in the other seat where seats alternate."""
        self.games.reset(which)
        if self._alternates:
            self.seats[which] *= -1
        self._against[which] = self._rng.choice(len(self._players), len(which), p=self._chances)
        self._reply(which[self.seats[which] == SECOND])

    def step(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Plays the learner's columns, (n,), and the opponents' replies.

        Returns:
            rewards, (n,) float32, and endings, (n,) int8: an index into ENDINGS, -1 for a game that goes on. Games that
            ended stay as they are until ``restart``.

        Raises:
            ValueError: one is no column of the board.
        """
        check_columns(columns, self.games.geometry)
        games, which = self.games, np.arange(len(self.games))
        illegal = ~games.legal()[which, columns]
        games.forfeit(which[illegal])
        games.play(columns[~illegal], which[~illegal])
        self._reply(which[~illegal & ~games.done])
        won, lost = games.winner == self.seats, games.winner == -self.seats
        endings = np.select([illegal, ~games.done, won, lost], [3, -1, 0, 1], 2).astype(np.int8)
        return self._setting.by_ending()[endings], endings

    def observe(self) -> np.ndarray:
        """(n, *shape): what the learner sees of each game."""
        return self._setting.seen.of(self.games.stones, self.seats)

    def _reply(self, which: np.ndarray) -> None:
        for number, player in enumerate(self._players):
            share = which[self._against[which] == number]
            if len(share):
                play_actions(self.games, player(self.games, share), share)
