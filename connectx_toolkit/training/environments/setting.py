"""What all environments are told: who plays the learner, on which board, from which seat, and what it sees and gets.

An opponent is a name of ``python evaluate.py list`` (also minimax@4, minimax@4~10, NAME~10), the path of a Python file,
a function ``agent(obs, config)``, ITSELF, or a mixture of these: a list, or names with "+" between them. Each game
draws one of a mixture. ITSELF is the policy that learns, or a version of it, as ``set_policy`` was told last; until
then it plays at random.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx.geometry import Geometry, geometry_of
from connectx_toolkit.training.environments.duels import Duels, check_seat, rewards_named
from connectx_toolkit.training.environments.observations import Observation, observation_named
from connectx_toolkit.training.games.batch import Games
from connectx_toolkit.training.games.opponents import AgentPlayer, function_of_file, opponent_named
from connectx_toolkit.training.games.players import Player, random_player

ITSELF = "self"

# Columns, (k,) integers, legal or not, for observations, (k, *shape), and legal columns, (k, columns) bool.
Policy = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Weighted(NamedTuple):
    """A player of training.games with its weight in a mixture, where what is named has a weight of 1."""

    weight: float
    player: Player


@dataclass
class Setting:
    """The options of every environment.

    Attributes:
        opponent: see the module.
        seat: "alternating", "first" or "second": the learner's.
        rewards: "course" or "zero-sum", of connectx_toolkit.training.environments.duels.
        observation: "course", "sides" or an encoding, of connectx_toolkit.training.environments.observations.
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
        check_seat(self.seat)
        rewards_named(self.rewards, self.geometry)
        self._members = [loaded(member) for member in parts(self.opponent)]
        self._players(np.random.default_rng())  # whatever is wrong is said now

    @property
    def geometry(self) -> Geometry:
        return geometry_of(self.rows, self.columns, self.inarow)

    @property
    def seen(self) -> Observation:
        return observation_named(self.observation, self.geometry)

    def duels(self, count: int, rng: np.random.Generator) -> Duels:
        """``count`` games that draw all that is random from ``rng``."""
        rewards = rewards_named(self.rewards, self.geometry)
        return Duels(count, self._players(rng), self.geometry, rewards, self.seen, rng, self.seat)

    def _players(self, rng: np.random.Generator) -> list[Weighted]:
        return [each if isinstance(each, Weighted) else Weighted(1, self._player(each, rng)) for each in self._members]

    def _player(self, opponent: Any, rng: np.random.Generator) -> Player:
        if opponent == ITSELF:
            return Itself(self, rng)
        if callable(opponent):
            return AgentPlayer(opponent, self.geometry)
        if not isinstance(opponent, str):
            raise ValueError(f"opponent should be a name, a file, a function or a list of these, not {opponent!r:.80}")
        return opponent_named(opponent, self.geometry, rng)


class Itself:
    """The policy of a setting as a player. Where its column is not legal, a random one is played."""

    def __init__(self, setting: Setting, rng: np.random.Generator):
        self._setting, self._seen, self._at_random = setting, setting.seen, random_player(rng)

    def __call__(self, games: Games, which: np.ndarray) -> np.ndarray:
        columns, policy = self._at_random(games, which), self._setting.policy
        if policy is None:
            return columns
        legal = games.legal()[which]
        chosen = np.asarray(policy(self._seen.of(games.stones[which], games.mover[which]), legal))
        return np.where(legal[np.arange(len(which)), chosen], chosen, columns)


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


def loaded(opponent: Any) -> Any:
    """The function of a file; anything else as it is. Raises as ``function_of_file``."""
    is_file = isinstance(opponent, str | os.PathLike) and Path(opponent).suffix == ".py"
    return function_of_file(Path(opponent)) if is_file else opponent
