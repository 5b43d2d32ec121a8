"""Trains a policy network by policy gradients (REINFORCE) in games against the strong policy agent, from nothing.

Both sides draw their moves from their softmax, and seats swap every 10 games. Returns, and the cost of illegal choices,
are defined in ``connectx_toolkit.training.learning.policy_run``.

Method: Williams (1992), in the form of the Connect Four chapter of the book that the agent comes from; the games of an
update are played in parallel. Returns, their discount, the cost of illegal choices and the stop at 0.9 are the
chapter's. From random weights its update alone did not hold: within a few updates the logits ran away, and the policy
played one column only. Ours are

- the bound on a step of proximal policy optimisation (Schulman et al. 2017): a batch is learned from in minibatches,
  and a choice whose probability a batch has changed by a fifth is left alone;
- advantages, scaled in each batch, in place of returns: the baseline is the running mean at each ply. It is
  subtracted for illegal choices, too. Otherwise they would cost less than legal moves in lost positions; the policy
  would learn to make them, and would not recover;
- an entropy bonus, which decays;
- a learning rate that decays from 1e-3, where the chapter has 2.5e-4, and gradients clipped at a norm of 0.5;
- batches of 4,000 games, not 10, and a running reward over 1,000 games, not 100: over 100, luck ends the training;
- a network of another shape, which sees planes of the cells that win at once.

``--start opponent`` begins as a copy of the strong policy agent, as AlphaGo's policy began as the network that it first
played (Silver et al. 2016). All games are saved: ``train.py value`` learns from them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from connectx.geometry import STANDARD
from connectx.nets.torch_form import Network
from connectx.weights import pack
from connectx_toolkit.console.files import read_as, write_whole
from connectx_toolkit.places import WEIGHTS
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.players import Played, Player, greedy_player, sampling_player
from connectx_toolkit.training.learning.networks import logits_of
from connectx_toolkit.training.learning.policy_run import (
    BLOCK,
    ILLEGAL,
    Choices,
    PolicyOptions,
    PolicyRun,
    chosen_and_entropy,
    results_against,
    returns_of,
    trained,
)
from connectx_toolkit.training.learning.supervised import kept_planes
from connectx_toolkit.training.support.manifest import publish
from connectx_toolkit.training.support.options import option
from connectx_toolkit.training.support.plots import save_curve

WINDOW = 1000  # games over which the running reward is the mean
CHAPTER_WINDOW = 100  # the same in the chapter
MATCH_GAMES = 2000  # against the strong policy agent at the end
MINIBATCH = 2048  # choices of a step
RATIO = 0.2  # change of a choice's probability in a batch, beyond which it is left alone
LAST_ENTROPY = 0.3  # share of the entropy bonus that remains at the end
MEMORY = 0.95  # of the baseline: how much of the old mean remains after a batch
CLIP = 0.5  # largest norm of a gradient
OPPONENT, NOTHING = "opponent", "nothing"


@dataclass
class Config(PolicyOptions):
    """Options of ``train.py policy-gradient``."""

    METHOD = "policy-gradient"

    games: int = option(600_000, "largest number of games", least=1)
    batch: int = option(4000, "games per update, played in parallel", least=1)
    stop: float = option(0.9, "running reward over 1,000 games at which training ends")
    learning_rate: float = option(1e-3, "initial learning rate of Adam; decays to 0", above=0)
    entropy: float = option(0.1, "initial weight of the entropy bonus in the loss; decays to 0.3 of it", least=0)
    start: str = option(
        NOTHING,
        "initial weights: 'nothing': random; 'opponent' copies those of the agent that it is measured against",
        among=(NOTHING, OPPONENT),
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


def scaled(advantages: np.ndarray) -> np.ndarray:
    """The advantages, (m,) float32, divided by the root of their mean square."""
    return advantages / max(1e-6, float(np.sqrt((advantages**2).mean())))


def clipped_loss(logits: Tensor, actions: Tensor, advantages: Tensor, before: Tensor, entropy: float) -> Tensor:
    """Minus the mean of PPO's clipped objective (Schulman et al. 2017), minus ``entropy`` times the mean entropy.

    Args:
        logits: (m, actions); actions: (m,) int64; advantages: (m,) float32, returns minus their baseline.
        before: (m,) the actions' log-probabilities in the policy that played.
    """
    chosen, spread = chosen_and_entropy(logits, actions)
    ratio = (chosen - before).exp()
    gains = torch.minimum(ratio * advantages, ratio.clamp(1 - RATIO, 1 + RATIO) * advantages)
    return -gains.mean() - entropy * spread.mean()


class Run(PolicyRun):
    """A training run against the strong policy agent; it saves every game."""

    def __init__(self, config: Config):
        strong = read_as(Network.from_bytes, config.opponent)
        torch.manual_seed(config.seed)
        network = Network(strong.architecture)
        if config.start == OPPONENT:
            network.load_state_dict(strong.state_dict())
        super().__init__(config, network, WINDOW)
        self.strong = strong.to(self.device)
        self._opponent = sampling_player(logits_of(self.strong), self.rng)
        self.moves: list[np.ndarray] = []  # (batch, cells) int8 of each batch
        self.baseline = Baseline()
        self.resume()

    def new_games(self, count: int) -> ConnectX:
        return ConnectX(count, STANDARD)

    def opponent(self) -> Player:
        return self._opponent

    def learn(self, choices: Choices, played: Played) -> np.ndarray:
        """The updates from one batch. Mirrored boards cannot be used: their actions were not drawn from the policy."""
        self.moves.append(played.padded(STANDARD.cells))
        returns = returns_of(choices, played.outcomes(), self.config.discount)
        advantages = self.tensor(scaled(self.baseline.advantages(choices, returns)))
        self.baseline.move(choices, returns)
        planes, actions = kept_planes(self.network, choices.boards), self.tensor(choices.actions)
        with torch.no_grad():
            before, _ = chosen_and_entropy(self.network(planes.float())["policy"], actions)
        left = 1 - self.games / self.config.games
        entropy = self.config.entropy * (LAST_ENTROPY + (1 - LAST_ENTROPY) * left)
        self.optimizer.param_groups[0]["lr"] = self.config.learning_rate * left
        order = self.tensor(self.rng.permutation(len(actions)))
        for rows in order.tensor_split(max(1, len(order) // MINIBATCH)):
            logits = self.network(planes[rows].float())["policy"]
            self.update(clipped_loss(logits, actions[rows], advantages[rows], before[rows], entropy), CLIP)
        return played.outcomes()

    def own_arrays(self) -> dict[str, np.ndarray]:
        return {"baseline": self.baseline.means, "moves": np.concatenate(self.moves)}

    def take_back(self, arrays: dict[str, np.ndarray]) -> None:
        self.baseline.means, self.moves = arrays["baseline"], np.split(arrays["moves"], len(self.results))

    @property
    def games_to_stop(self) -> int:
        """Games until the mean of 100, as in the chapter, first reached ``stop``; 0 if it never did."""
        return games_until(np.concatenate(self.results), self.config.stop, CHAPTER_WINDOW)

    def publish(self) -> None:
        """Plays the matches; writes the games, the curve, and the network with its entry in the manifest."""
        config, means = self.config, np.array([part.mean() for part in self.results])
        found = matches(self.network, self.strong, MATCH_GAMES, config.seed)
        facts = {"games": self.games, "running_reward": round(self.running_reward, 3), "seed": config.seed}
        facts |= {"start": config.start, "games_to_stop_of_100": self.games_to_stop}
        facts["v_strong_policy"] = {name: list(counts) for name, counts in found.items()}
        arrays = {"moves": np.concatenate(self.moves), "results": np.concatenate(self.results)}
        meta: dict[str, Any] = {"settings": config.settings, "block": BLOCK}
        write_whole(config.run / "games.bin", pack(arrays, meta))
        curve = np.arange(1, len(means) + 1) * config.batch, means
        save_curve(config.run / "curve.png", "games", "mean result v the strong policy agent", {"": curve})
        start = "random weights" if config.start == NOTHING else "a copy of the strong policy agent"
        score = (f"{self.score}, from {start}; wins, draws, losses of {MATCH_GAMES} new games "
                 f"against it: sampled {found['sampled']}, greedy {found['greedy']}")  # fmt: skip
        publish(config, self.network.to_bytes(), facts, score)


def games_until(results: np.ndarray, mean: float, window: int) -> int:
    """Games until the mean of the last ``window`` results first reached ``mean``; 0 if it never did."""
    if len(results) < window:
        return 0
    sums = np.convolve(results, np.ones(window, np.int64), "valid")
    reached = np.flatnonzero(sums >= mean * window - 1e-9)
    return int(reached[0]) + window if len(reached) else 0


def matches(network: Network, strong: Network, games: int, seed: int) -> dict[str, tuple[int, int, int]]:
    """(wins, draws, losses) of a policy in new games against the strong one, which draws its moves from its softmax.

    "sampled": the policy draws its moves, too, as in training; "greedy": it plays the most likely legal one.
    """
    rng, logits = np.random.default_rng(seed), logits_of(network)
    players = {"sampled": sampling_player(logits, rng), "greedy": greedy_player(logits)}
    return {name: results_against(player, strong, games, rng) for name, player in players.items()}


def train(config: Config) -> Run:
    """Trains until the running reward is reached or the games are played; resumes from a checkpoint."""
    return trained(Run, config)
