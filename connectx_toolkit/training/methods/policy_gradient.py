"""Trains a policy network by policy gradients (REINFORCE) in games against the strong policy agent.

Both sides draw their moves from their softmax, and seats swap every 10 games. Returns, and the cost of illegal choices,
are defined in ``training.learning.policy_run``. Training ends when the mean result of the last 100 games reaches 0.9.

The learner starts as a copy of the strong policy agent, as AlphaGo's did (Silver et al. 2016), or from random weights.

Method: Williams (1992), in the form of the Connect Four chapter of the book that the agent comes from; the games of
an update are played in parallel. Two things are ours: a baseline, the running mean of the returns at each ply, which
reduces the variance, and an entropy bonus. The baseline is subtracted for illegal choices, too. Otherwise they would
cost less than legal moves in lost positions; the policy would learn to make them, and would not recover.
All games are saved: ``train.py value`` learns from them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from connectx.geometry import STANDARD
from connectx.nets.torch_form import Network
from connectx.weights import pack
from connectx_toolkit.console.files import read_as, write_whole
from connectx_toolkit.places import WEIGHTS
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.players import Played, Player, sampling_player
from connectx_toolkit.training.learning.networks import logits_of, outputs_of
from connectx_toolkit.training.learning.policy_run import (
    BLOCK,
    ILLEGAL,
    Choices,
    PolicyOptions,
    PolicyRun,
    policy_loss,
    returns_of,
    trained,
)
from connectx_toolkit.training.support.manifest import publish
from connectx_toolkit.training.support.options import option
from connectx_toolkit.training.support.plots import save_curve

WINDOW = 100  # games over which the running reward is the mean
MEMORY = 0.95  # of the baseline: how much of the old mean remains after a batch
CLIP = 0.5  # largest norm of a gradient
OPPONENT, NOTHING = "opponent", "nothing"


@dataclass
class Config(PolicyOptions):
    """Options of ``train.py policy-gradient``."""

    METHOD = "policy-gradient"

    games: int = option(200_000, "largest number of games", least=1)
    stop: float = option(0.9, "running reward over 100 games at which training ends")
    learning_rate: float = option(3e-4, "learning rate of Adam", above=0)
    entropy: float = option(0.02, "weight of the entropy bonus in the loss", least=0)
    start: str = option(
        OPPONENT, "initial weights: 'opponent' copies the opponent's, 'nothing': random", among=(OPPONENT, NOTHING)
    )
    opponent: Path = option(WEIGHTS / "strong_policy.bin", "policy network to play against", reads=(".bin",))
    run: Path = option(Path("runs/policy-gradient"), "folder for checkpoint, games and curve")
    output: Path = option(Path(), "file to write: the policy network", in_run="policy_gradient.bin")


class Baseline:
    """The running mean of the returns of legal moves at each ply."""

    def __init__(self) -> None:
        self.means = np.zeros(STANDARD.cells)

    def advantages(self, choices: Choices, returns: np.ndarray) -> np.ndarray:
        """(m,) float32: the returns minus the means of their plies, for legal and for illegal choices."""
        return (returns - self.means[choices.plies]).astype(np.float32)

    def move(self, choices: Choices, returns: np.ndarray) -> None:
        """Updates the mean of each ply that occurs, towards the mean of its new returns."""
        legal = choices.turns != ILLEGAL
        plies, cells = choices.plies[legal], STANDARD.cells
        counts = np.bincount(plies, minlength=cells)
        means = np.bincount(plies, returns[legal], cells) / np.maximum(counts, 1)
        self.means += (1 - MEMORY) * np.where(counts > 0, means - self.means, 0.0)


class Run(PolicyRun):
    """A training run against the strong policy agent; it saves every game."""

    def __init__(self, config: Config):
        strong = read_as(Network.from_bytes, config.opponent)
        torch.manual_seed(config.seed)
        network = Network(strong.architecture)
        if config.start == OPPONENT:
            network.load_state_dict(strong.state_dict())
        super().__init__(config, network, WINDOW)
        self._opponent = sampling_player(logits_of(strong.to(self.device)), self.rng)
        self.moves: list[np.ndarray] = []  # (batch, cells) int8 of each batch
        self.baseline = Baseline()
        self.resume()

    def new_games(self, count: int) -> ConnectX:
        return ConnectX(count, STANDARD)

    def opponent(self) -> Player:
        return self._opponent

    def learn(self, choices: Choices, played: Played) -> np.ndarray:
        """One update. Mirrored boards cannot be used: their actions were not drawn from the policy."""
        self.moves.append(played.padded(STANDARD.cells))
        returns = returns_of(choices, played.outcomes(), self.config.discount)
        advantages = self.tensor(self.baseline.advantages(choices, returns))
        self.baseline.move(choices, returns)
        logits = outputs_of(self.network, choices.boards)["policy"]
        self.update(policy_loss(logits, self.tensor(choices.actions), advantages, self.config.entropy), CLIP)
        return played.outcomes()

    def own_arrays(self) -> dict[str, np.ndarray]:
        return {"baseline": self.baseline.means, "moves": np.concatenate(self.moves)}

    def take_back(self, arrays: dict[str, np.ndarray]) -> None:
        self.baseline.means, self.moves = arrays["baseline"], np.split(arrays["moves"], len(self.results))

    def publish(self) -> None:
        """Writes the games, the curve, and the network with its entry in the manifest."""
        config, means = self.config, np.array([part.mean() for part in self.results])
        facts = {"games": self.games, "running_reward": round(self.running_reward, 3), "seed": config.seed}
        arrays = {"moves": np.concatenate(self.moves), "results": np.concatenate(self.results)}
        meta: dict[str, Any] = {"settings": config.settings, "block": BLOCK}
        write_whole(config.run / "games.bin", pack(arrays, meta))
        curve = np.arange(1, len(means) + 1) * config.batch, means
        save_curve(config.run / "curve.png", "games", "mean result v the strong policy agent", {"": curve})
        publish(config, self.network.to_bytes(), facts, self.score)


def train(config: Config) -> Run:
    """Trains until the running reward is reached or the games are played; resumes from a checkpoint."""
    return trained(Run, config)
