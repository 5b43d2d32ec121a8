"""Trains a policy network by policy gradients (REINFORCE) in games against the strong policy agent.

Both sides draw their moves from their softmax, and seats swap every 10 games. Returns, and the cost of illegal choices,
are defined in ``training.learning.policy_games``. Training ends when the mean result of the last 100 games reaches 0.9.

The learner starts as a copy of the strong policy agent, as AlphaGo's did (Silver et al. 2016), or from random weights.

Method: Williams (1992), in the form of the Connect Four chapter of the book that the agent comes from; the games of
an update are played in parallel. Two options are ours: a baseline, the running mean of the returns at each ply, which
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
from connectx_toolkit.console.files import write_whole
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.players import alternating, play_games, sampling_player
from connectx_toolkit.training.learning.networks import logits_of, outputs_of, small_network
from connectx_toolkit.training.learning.policy_games import BLOCK, ILLEGAL, Choices, Learner, policy_loss, returns_of
from connectx_toolkit.training.learning.policy_run import PolicyRun, train_to_end
from connectx_toolkit.training.support.device import NAMES
from connectx_toolkit.training.support.manifest import begin, publish
from connectx_toolkit.training.support.options import Options, option
from connectx_toolkit.training.support.plots import save_curve

WINDOW = 100  # games over which the running reward is the mean
OPPONENT, NOTHING = "opponent", "nothing"


@dataclass
class Config(Options):
    """Options of ``train.py policy-gradient``."""

    METHOD = "policy-gradient"

    games: int = option(200_000, "largest number of games", least=1)
    batch: int = option(200, "games per update, played in parallel", least=1)
    discount: float = option(0.95, "discount of a return for each later move of the learner", above=0, most=1)
    stop: float = option(0.9, "running reward over 100 games at which training ends")
    learning_rate: float = option(3e-4, "learning rate of Adam", above=0)
    entropy: float = option(0.02, "weight of the entropy bonus in the loss", least=0)
    memory: float = option(0.95, "decay of the per-ply baseline; 1 disables it", least=0, most=1)
    clip: float = option(0.5, "largest norm of a gradient", above=0)
    channels: int = option(16, "channels of the convolution, with --start nothing", least=1)
    hidden: int = option(128, "width of the first dense layer, with --start nothing", least=1)
    seed: int = option(1, "seed of weights and games")
    device: str = option(
        "cpu", "of torch; the games themselves are always played on the processor", among=NAMES, is_free=True
    )
    start: str = option(
        OPPONENT, "initial weights: 'opponent' copies the opponent's, 'nothing': random", among=(OPPONENT, NOTHING)
    )
    opponent: Path = option(Path("agents/weights/strong_policy.bin"), "policy network to play against", reads=(".bin",))
    run: Path = option(Path("runs/policy-gradient"), "folder for checkpoint, games and curve")
    output: Path = option(Path(), "file to write: the policy network", in_run="policy_gradient.bin")


class Baseline:
    """The running mean of the returns of legal moves at each ply.

    Args:
        memory: how much of the old mean remains after a batch; 1: all means stay 0.
    """

    def __init__(self, memory: float):
        self.memory, self.means = memory, np.zeros(STANDARD.cells)

    def advantages(self, choices: Choices, returns: np.ndarray) -> np.ndarray:
        """(m,) float32: the returns minus the means of their plies, for legal and for illegal choices."""
        return (returns - self.means[choices.plies]).astype(np.float32)

    def move(self, choices: Choices, returns: np.ndarray) -> None:
        """Updates the mean of each ply that occurs, towards the mean of its new returns."""
        legal = choices.turns != ILLEGAL
        plies, cells = choices.plies[legal], STANDARD.cells
        counts = np.bincount(plies, minlength=cells)
        means = np.bincount(plies, returns[legal], cells) / np.maximum(counts, 1)
        self.means += (1 - self.memory) * np.where(counts > 0, means - self.means, 0.0)


def first_network(config: Config, opponent: bytes) -> Network:
    """The initial network of the learner, given the opponent's file."""
    if config.start == OPPONENT:
        return Network.from_bytes(opponent)
    return small_network("policy", STANDARD.columns, config.channels, config.hidden, config.seed)


class Run(PolicyRun):
    """A training run against the strong policy agent; it saves every game."""

    def __init__(self, config: Config):
        opponent = config.opponent.read_bytes()
        super().__init__(config, first_network(config, opponent), WINDOW)
        self.learner = Learner(logits_of(self.network), self.rng)
        strong = Network.from_bytes(opponent).to(self.device)
        self.players = (self.learner, sampling_player(logits_of(strong), self.rng))
        self.moves: list[np.ndarray] = []  # (batch, cells) int8 of each batch
        self.baseline = Baseline(config.memory)
        self.resume()

    def play_and_learn(self) -> np.ndarray:
        leads = alternating(self.config.batch, BLOCK, self.games)
        played = play_games(ConnectX(self.config.batch, STANDARD), self.players, leads)
        self.moves.append(played.padded(STANDARD.cells))
        self.learn(self.learner.choices(), played.outcomes())
        return played.outcomes()

    def learn(self, choices: Choices, results: np.ndarray) -> None:
        """One update. Mirrored boards cannot be used: their actions were not drawn from the policy."""
        returns = returns_of(choices, results, self.config.discount)
        self.illegal = float((choices.turns == ILLEGAL).mean())
        logits = outputs_of(self.network, choices.boards)["policy"]
        advantages = torch.from_numpy(self.baseline.advantages(choices, returns)).to(self.device)
        self.baseline.move(choices, returns)
        actions = torch.from_numpy(choices.actions).to(self.device)
        loss = policy_loss(logits, actions, advantages, self.config.entropy)
        self.update(loss, self.config.clip)

    def own_arrays(self) -> dict[str, np.ndarray]:
        return {"baseline": self.baseline.means, "moves": np.concatenate(self.moves)}

    def take_back(self, arrays: dict[str, np.ndarray]) -> None:
        self.baseline.means, self.moves = arrays["baseline"], np.split(arrays["moves"], len(self.results))

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """(games played, mean result) of each batch."""
        means = np.array([part.mean() for part in self.results])
        return np.arange(1, len(means) + 1) * self.config.batch, means

    def publish(self) -> None:
        """Writes the games, the curve, and the network with its entry in the manifest."""
        config = self.config
        facts = {"games": self.games, "running_reward": round(self.running_reward, 3), "seed": config.seed}
        arrays = {"moves": np.concatenate(self.moves), "results": np.concatenate(self.results)}
        meta: dict[str, Any] = {"settings": config.settings, "block": BLOCK}
        write_whole(config.run / "games.bin", pack(arrays, meta))
        save_curve(config.run / "curve.png", "games", "mean result v the strong policy agent", {"": self.curve()})
        publish(config, self.network.to_bytes(), facts)


def train(config: Config) -> Run:
    """Trains until the running reward is reached or the games are played; resumes from a checkpoint."""
    begin(config)
    torch.set_num_threads(1)  # the batches are small: several threads would wait for each other
    run = Run(config)
    train_to_end(run)
    return run
