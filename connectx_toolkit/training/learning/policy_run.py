"""Policy gradients on whole games: choices and their returns, the loss, and the training loop that can be resumed.

The return of a choice is 1 in a won game, 0 in a draw and -1 in a lost one, discounted for each later move of the
learner. The learner chooses among all actions. An illegal choice has the return -1, without discount and without effect
on earlier moves, and a legal action is drawn instead.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from connectx.geometry import STANDARD
from connectx.nets.torch_form import Network
from connectx_toolkit.console.progress import progress, tell_rate
from connectx_toolkit.training.games.batch import Games
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.players import (
    Logits,
    Played,
    Player,
    alternating,
    play_games,
    sample,
    sampling_player,
)
from connectx_toolkit.training.learning import torch_state
from connectx_toolkit.training.learning.networks import logits_of
from connectx_toolkit.training.support import checkpoint
from connectx_toolkit.training.support.device import device_named, device_option
from connectx_toolkit.training.support.manifest import begin
from connectx_toolkit.training.support.options import Options, option

BLOCK = 10  # games, after which the seats swap
ILLEGAL = -1  # in ``Choices.turns``: the choice was illegal
ILLEGAL_RETURN = -1.0
CHECKPOINT_SECONDS = 20.0


@dataclass
class PolicyOptions(Options):
    """The options that all policy-gradient methods have."""

    batch: int = option(200, "games per update, played in parallel", least=1)
    discount: float = option(0.95, "discount of a return for each later move of the learner", above=0, most=1)
    seed: int = option(1, "random seed of weights and games")
    device: str = device_option("cpu")


class Choices(NamedTuple):
    """The learner's choices in a batch of games; an illegal choice and the legal one after it are two rows."""

    boards: np.ndarray  # (m, rows, columns) int8, seen by the learner
    actions: np.ndarray  # (m,) int64
    games: np.ndarray  # (m,) int64, the game's index in the batch
    turns: np.ndarray  # (m,) int64, the learner's earlier moves in this game; ILLEGAL for an illegal choice

    @property
    def plies(self) -> np.ndarray:
        """(m,) int64: the number of stones on the board."""
        return np.count_nonzero(self.boards, axis=(1, 2))


class Learner:
    """A player that draws from all actions, legal or not, and records its choices."""

    def __init__(self, logits: Logits, rng: np.random.Generator):
        self._logits, self._rng = logits, rng
        self._rows: list[Choices] = []

    def __call__(self, games: Games, which: np.ndarray) -> np.ndarray:
        boards, legal = games.boards(which), games.legal()[which]
        logits = self._logits(boards)
        tried = sample(logits, np.ones_like(legal), self._rng)
        bad = ~legal[np.arange(len(which)), tried]
        actions = np.where(bad, sample(logits, legal, self._rng), tried)
        self._rows.append(Choices(boards[bad], tried[bad], which[bad], np.full(bad.sum(), ILLEGAL)))
        self._rows.append(Choices(boards, actions, which, games.plies[which] // 2))
        return actions

    def choices(self) -> Choices:
        """All choices since the last call."""
        rows, self._rows = self._rows, []
        return Choices(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def returns_of(choices: Choices, results: np.ndarray, discount: float) -> np.ndarray:
    """(m,) float32: the return of each choice.

    Args:
        results: (n,) the result of each game for the learner; it is the reward of the learner's last move.
    """
    legal = choices.turns != ILLEGAL
    moves = np.bincount(choices.games[legal], minlength=len(results))
    later = moves[choices.games] - 1 - choices.turns
    return np.where(legal, results[choices.games] * discount**later, ILLEGAL_RETURN).astype(np.float32)


def results_against(player: Player, opponent: Network, games: int, rng: np.random.Generator) -> tuple[int, int, int]:
    """(wins, draws, losses) of a player against a policy that draws its moves. Seats swap every BLOCK games."""
    players = player, sampling_player(logits_of(opponent), rng)
    return play_games(ConnectX(games, STANDARD), players, alternating(games, BLOCK)).counts()


def chosen_and_entropy(logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """(m,) log-probability of each action, and (m,) entropy of each row's softmax, in nats.

    Args:
        logits: (m, actions); actions: (m,) int64.
    """
    log_chances = logits.log_softmax(dim=1)
    return log_chances.gather(1, actions[:, None])[:, 0], -(log_chances.exp() * log_chances).sum(dim=1)


def policy_loss(logits: Tensor, actions: Tensor, advantages: Tensor, entropy: float) -> Tensor:
    """REINFORCE: minus the mean of log-probability times advantage, minus ``entropy`` times the mean entropy.

    Args:
        logits: (m, actions); actions: (m,) int64; advantages: (m,) float32, returns minus their baseline.
    """
    chosen, spread = chosen_and_entropy(logits, actions)
    return -(chosen * advantages).mean() - entropy * spread.mean()


class PolicyRun(ABC):
    """A training run that goes on from its checkpoint. A method defines opponent, update, and what else it keeps.

    Args:
        config: of the method: ``PolicyOptions`` with ``games``, ``stop``, ``learning_rate``, ``run`` and ``output``.
        network: has a head "policy"; it is moved to the device.
        window: the number of results over which the running reward is the mean.

    Attributes:
        games: number of games played so far.
        results: for each batch, the results that the running reward counts, for the learner: int8.
        illegal: share of illegal choices in the last batch.
        seconds: processor time so far; there is only one thread.
    """

    def __init__(self, config: Any, network: Network, window: int):
        self.config, self.window = config, window
        self.device = device_named(config.device)
        self.network = network.to(self.device)
        self.rng = np.random.default_rng(config.seed)
        self.optimizer = torch.optim.Adam(network.parameters(), config.learning_rate)
        self.learner = Learner(logits_of(self.network), self.rng)
        self.games, self.illegal, self.seconds = 0, 0.0, 0.0
        self.results: list[np.ndarray] = []

    @property
    def running_reward(self) -> float:
        """The mean of the last ``window`` results; -1 while there are fewer."""
        batches = self.window // max(1, min(map(len, self.results), default=1)) + 1
        last = np.concatenate([*self.results[-batches:], np.empty(0)])[-self.window :]
        return float(last.mean()) if len(last) == self.window else -1.0

    @property
    def score(self) -> str:
        """The running reward at the end, in words."""
        reached = "reached" if self.running_reward >= self.config.stop else "not reached"
        return f"running reward {self.running_reward:.4f} after {self.games} games, {self.config.stop} {reached}"

    @property
    def finished(self) -> bool:
        return self.games >= self.config.games or self.running_reward >= self.config.stop

    def step(self) -> None:
        """Plays a batch of games and learns from it."""
        started, batch = time.process_time(), self.config.batch
        leads = alternating(batch, BLOCK, self.games)
        played = play_games(self.new_games(batch), (self.learner, self.opponent()), leads)
        choices = self.learner.choices()
        self.illegal = float((choices.turns == ILLEGAL).mean())
        self.results.append(self.learn(choices, played))
        self.games += batch
        self.seconds += time.process_time() - started

    @abstractmethod
    def new_games(self, count: int) -> Games:
        """``count`` new games of the kind that is learned."""

    @abstractmethod
    def opponent(self) -> Player:
        """The opponent in the next batch."""

    @abstractmethod
    def learn(self, choices: Choices, played: Played) -> np.ndarray:
        """Makes one update; returns the results that the running reward counts."""

    @abstractmethod
    def own_arrays(self) -> dict[str, np.ndarray]:
        """The method's own arrays for a checkpoint, besides network, optimizer and results."""

    @abstractmethod
    def take_back(self, arrays: dict[str, np.ndarray]) -> None:
        """Restores what ``own_arrays`` gave; games and results are already restored."""

    @abstractmethod
    def publish(self) -> None:
        """Writes the network with its entry in the manifest, and the method's other files."""

    def tensor(self, array: np.ndarray) -> Tensor:
        """An array on the run's device."""
        return torch.from_numpy(array).to(self.device)

    def update(self, loss: Tensor, clip: float = float("inf")) -> None:
        """One step of the optimizer. ``clip``: the largest norm of the gradient."""
        self.optimizer.zero_grad()
        loss.backward()
        if clip < float("inf"):
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), clip)
        self.optimizer.step()

    @property
    def _path(self) -> Path:
        return self.config.run / "checkpoint.bin"

    def save(self) -> None:
        facts = {"games": self.games, "seconds": self.seconds, "rng": self.rng.bit_generator.state}
        arrays = torch_state.arrays_of(self.optimizer, network=self.network)
        arrays |= {"results": np.concatenate(self.results), **self.own_arrays()}
        checkpoint.save(self._path, self.config.settings, facts, arrays)

    def resume(self) -> None:
        """Restores the checkpoint, if there is one. Raises ValueError if it is damaged or from another run."""
        found = checkpoint.load(self._path, self.config.settings)
        if found is None:
            return
        with checkpoint.restoring(self._path):
            torch_state.restore(found.arrays, self.optimizer, network=self.network)
            self.games, self.seconds = found.facts["games"], found.facts["seconds"]
            self.rng.bit_generator.state = found.facts["rng"]
            self.results = np.split(found.arrays["results"], self.games // self.config.batch)
            self.take_back(found.arrays)

    def to_end(self) -> None:
        """Trains until the running reward reaches ``stop`` or all games are played, then publishes."""
        config, saved, started, before = self.config, time.monotonic(), time.perf_counter(), self.games
        with progress(config.games, "game", done=self.games, delay=0) as bar:
            while not self.finished:
                self.step()
                if time.monotonic() > saved + CHECKPOINT_SECONDS:
                    self.save()
                    saved = time.monotonic()
                bar.set_postfix(reward=f"{self.running_reward:.4f}", illegal=f"{self.illegal:.1%}", refresh=False)
                bar.update(config.batch)
        tell_rate(self.games - before, "games", started, self.device.type)
        self.save()
        self.publish()


Run = TypeVar("Run", bound=PolicyRun)


def trained(kind: Callable[[Any], Run], config: Any) -> Run:
    """A run of this kind, trained to its end, from its checkpoint if there is one."""
    begin(config)
    torch.set_num_threads(1)  # the batches are small: several threads would wait for each other
    run = kind(config)
    run.to_end()
    return run
