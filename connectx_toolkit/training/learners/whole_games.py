"""Learning from whole games: what ``policy-gradient`` and ``actor-critic`` share.

Reward. A game that the learner wins gives 1, a draw 0 and a loss -1, at the learner's last move. The return of an
earlier move is this result, times ``--discount`` for each later move of the learner.

Illegal moves. The learner draws from all actions, illegal ones too. Drawing one has the return -1, without discount and
without effect on any other move. One of the legal actions is then drawn and played. So such a turn is two rows of the
batch: the illegal choice and the legal one.

A batch of games is played with a fixed policy, and learned from. Training ends when the running reward, the mean of the
last results, reaches ``--stop``, or after ``--games`` games.
"""

import time
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from connectx_core.torch_form import Network
from connectx_toolkit.system.console import progress, tell_rate
from connectx_toolkit.training.descent import device_named
from connectx_toolkit.training.supervised import logits_of
from connectx_toolkit.training.vector_games import Games, Logits, PlayedGames, Player, sample

ILLEGAL_RETURN = -1  # of an illegal choice: as bad as a lost game, and never discounted
ILLEGAL = -1  # in ``Choices.turns``, in place of a number of moves: the choice was illegal


class Choices(NamedTuple):
    """The learner's choices in a batch of games; an illegal choice and the legal one after it are two rows."""

    boards: np.ndarray  # (m, rows, columns) int8, seen by the learner
    actions: np.ndarray  # (m,) int64
    games: np.ndarray  # (m,) int64, the game's index in the batch
    turns: np.ndarray  # (m,) int64, the learner's earlier moves in this game; ILLEGAL for an illegal choice


def recording_player(logits: Logits, rows: list[Choices], rng: np.random.Generator) -> Player:
    """The learner: a player that draws from all actions, legal or not, and adds its choices to ``rows``.

    In the place of an illegal one it plays a second draw, from the legal ones.
    """

    def player(games: Games, which: np.ndarray) -> np.ndarray:
        boards, legal = games.boards(which), games.legal()[which]
        chances = logits(boards)
        tried = sample(chances, np.ones_like(legal), rng)
        bad = ~legal[np.arange(len(which)), tried]
        actions = np.where(bad, sample(chances, legal, rng), tried)
        rows.append(Choices(boards[bad], tried[bad], which[bad], np.full(bad.sum(), ILLEGAL)))
        rows.append(Choices(boards, actions, which, games.plies[which] // 2))
        return actions

    return player


def returns_of(choices: Choices, results: np.ndarray, discount: float) -> np.ndarray:
    """(m,) float32: the return of each choice.

    Args:
        results: (n,) the result of each game for the learner, 1, 0 or -1: the reward of its last move.
    """
    legal = choices.turns != ILLEGAL
    moves = np.bincount(choices.games[legal], minlength=len(results))
    later = moves[choices.games] - 1 - choices.turns
    return np.where(legal, results[choices.games] * discount**later, ILLEGAL_RETURN).astype(np.float32)


def chosen_and_entropy(logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """(m,) log-probability of each action, (m,) int64, and (m,) entropy of each row's softmax, in nats."""
    log_chances = logits.log_softmax(dim=1)
    return log_chances.gather(1, actions[:, None])[:, 0], -(log_chances.exp() * log_chances).sum(dim=1)


class WholeGamesRun(ABC):
    """A network in training.

    Args:
        config: with games, batch, stop, learning_rate, seed and device.

    Attributes:
        games: number of games played so far.
        results: (n,) int8: those that the running reward counts, for the learner.
        illegal: share of illegal choices in the last batch.
        seconds: processor time so far; there is only one thread.
    """

    WINDOW: ClassVar[int]  # results over which the running reward is the mean

    def __init__(self, config: Any, network: Network):
        self.config, self.device = config, device_named(config.device)
        self.network, self.rng = network.to(self.device), np.random.default_rng(config.seed)
        self.optimizer = torch.optim.Adam(self.network.parameters(), config.learning_rate)
        self.games, self.illegal, self.seconds = 0, 0.0, 0.0
        self.results = np.empty(0, np.int8)

    @abstractmethod
    def play(self, learner: Player) -> PlayedGames:
        """Plays a batch of games of the learner, the first of the two players."""

    @abstractmethod
    def learn(self, choices: Choices, results: np.ndarray) -> None:
        """Learns from a batch. ``results``: (batch,) of the games, for the learner."""

    @abstractmethod
    def note(self, choices: Choices, played: PlayedGames) -> None:
        """Adds a batch, which was learned from, to the results and to what is plotted and saved."""

    @property
    def running_reward(self) -> float:
        """The mean of the last WINDOW results; -1 while there are fewer."""
        return float(self.results[-self.WINDOW :].mean()) if len(self.results) >= self.WINDOW else -1.0

    @property
    def score(self) -> str:
        """How the training ended."""
        reward, stop = self.running_reward, self.config.stop
        reached = "reached" if reward >= stop else "not reached"
        return f"running reward {reward:.4f} after {self.games} games, {stop} {reached}"

    def step(self) -> None:
        """Plays a batch of games and learns from it."""
        started, rows = time.process_time(), list[Choices]()
        played = self.play(recording_player(logits_of(self.network), rows, self.rng))
        choices = Choices(*map(np.concatenate, zip(*rows, strict=True)))
        self.learn(choices, played.outcomes())
        self.illegal = float((choices.turns == ILLEGAL).mean())
        self.games += self.config.batch
        self.note(choices, played)
        self.seconds += time.process_time() - started

    def run(self) -> None:
        """Trains until the running reward is reached or the games are played."""
        torch.set_num_threads(1)  # the batches are small: several threads would wait for each other
        config, started = self.config, time.perf_counter()
        with progress(config.games, "game", delay=0) as bar:
            while self.games < config.games and self.running_reward < config.stop:
                self.step()
                bar.set_postfix(reward=f"{self.running_reward:.4f}", illegal=f"{self.illegal:.1%}", refresh=False)
                bar.update(config.batch)
        tell_rate(self.games, "games", started, self.device.type)

    def on_device(self, array: np.ndarray) -> Tensor:
        """An array on the run's device."""
        return torch.from_numpy(array).to(self.device)
