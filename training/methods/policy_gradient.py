"""Trains a policy net by policy gradients (REINFORCE) in games against the strong policy agent.

Both sides draw their moves from their softmax, and seats change every 10 games. A won game is worth 1, a lost one -1;
what a move is credited with is discounted by 0.95 for each later move of the learner. The learner chooses among all
columns: one that is full costs it -1, undiscounted and not blamed on the moves before it, and a legal move is drawn in
its place. Training ends when the mean result of the last 100 games reaches 0.9.

The learner begins as a copy of the strong policy agent, as AlphaGo's did (Silver et al. 2016), or from nothing.

Method: Williams (1992), in the form of the Connect Four chapter of the book that the agent comes from; the games of
an update are played side by side. Two options tame its variance and are ours: a baseline, the running mean of the
credits at each ply, and a bonus on the policy's entropy. The baseline is that of illegal tries, too: if it is not, then
where all is lost such a try costs less than a legal move, the policy learns to make them, and it does not recover.
Every game is kept: ``train.py value`` learns from them.
"""

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from connectx.geometry import STANDARD
from connectx.torch_nets import Network
from connectx.weights import pack
from console.files import write_whole
from console.progress import progress
from training.games.batch import Games
from training.games.connectx import ConnectX
from training.games.players import Logits, alternating, play_games, sample, sampling_player
from training.learning.networks import logits_of, outputs_of, small_network
from training.support import checkpoint
from training.support.manifest import check_output, publish
from training.support.options import command_of, option
from training.support.plots import save_curve

BLOCK = 10  # games, then the seats change
WINDOW = 100  # games that the running reward is the mean of
CHECKPOINT_UPDATES = 25
ILLEGAL = -1
OPPONENT, NOTHING = "opponent", "nothing"


@dataclass
class Config:
    """What ``train.py policy-gradient`` can be told."""

    games: int = option(200_000, "at most so many games")
    batch: int = option(200, "games side by side, between two updates")
    discount: float = option(0.95, "of a reward, for each later move of the learner")
    stop: float = option(0.9, "running reward over 100 games at which training ends")
    learning_rate: float = option(3e-4, "of Adam")
    entropy: float = option(0.02, "weight of the policy's entropy in the loss")
    memory: float = option(0.95, "of the running means of credits, a ply each, that are the baseline; 1: no baseline")
    clip: float = option(0.5, "largest norm of a gradient")
    channels: int = option(16, "of the convolution, from nothing")
    hidden: int = option(128, "width of the first dense layer, from nothing")
    seed: int = option(1, "of weights and games")
    start: str = option("opponent", "what the learner begins as: a copy of the 'opponent', or 'nothing': fresh weights")
    opponent: Path = option(Path("agents/weights/strong_policy.bin"), "policy net to play against")
    folder: Path = option(Path("runs/policy-gradient"), "checkpoint, games and curve")
    output: Path = option(Path("agents/weights/policy_gradient.bin"), "the policy net")

    def __post_init__(self) -> None:
        if min(self.games, self.batch, self.channels, self.hidden) < 1:
            raise ValueError(f"games, batch, channels and hidden should be at least 1: {self}")
        if self.start not in (OPPONENT, NOTHING):
            raise ValueError(f"start should be {OPPONENT!r} or {NOTHING!r}, not {self.start!r}")
        if not (0 < self.discount <= 1 and 0 <= self.memory <= 1 and self.learning_rate > 0 and self.entropy >= 0):
            raise ValueError(f"discount and memory should lie in 0..1, learning rate and entropy not below 0: {self}")


class Choices(NamedTuple):
    """What the learner chose in a batch of games; an illegal choice and the legal one after it are two rows."""

    boards: np.ndarray  # (m, rows, columns) int8, seen by the learner
    actions: np.ndarray  # (m,) int64
    games: np.ndarray  # (m,) int64, which game of the batch
    turns: np.ndarray  # (m,) int64, legal moves that the learner had made in this game before; ILLEGAL

    @property
    def plies(self) -> np.ndarray:
        """(m,) int64: how many stones lay on the board."""
        return np.count_nonzero(self.boards, axis=(1, 2))


class Learner:
    """A player that draws from all actions, legal or not, and keeps what it chose."""

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


def returns(choices: Choices, results: np.ndarray, discount: float) -> np.ndarray:
    """(m,) float32: what each choice is credited with.

    Args:
        results: (n,) of each game, seen by the learner, all of it earned by the last move.
    """
    legal = choices.turns != ILLEGAL
    moves = np.bincount(choices.games[legal], minlength=len(results))
    later = moves[choices.games] - 1 - choices.turns
    return np.where(legal, results[choices.games] * discount**later, -1.0).astype(np.float32)


def loss_of(logits: Tensor, actions: Tensor, advantages: Tensor, entropy: float) -> Tensor:
    """REINFORCE: minus the mean of log-probability times advantage, minus ``entropy`` times the mean entropy.

    Args:
        logits: (m, actions); actions: (m,) int64; advantages: (m,) float32, credits less the baseline.
    """
    log_chances = logits.log_softmax(dim=1)
    chosen = log_chances.gather(1, actions[:, None])[:, 0]
    spread = -(log_chances.exp() * log_chances).sum(dim=1)
    return -(chosen * advantages).mean() - entropy * spread.mean()


class Baseline:
    """The running mean of the credits of legal moves at each ply, whichever side moves there.

    Args:
        memory: how much of a mean remains after a batch; 1: all means stay 0.
    """

    def __init__(self, memory: float):
        self.memory, self.means = memory, np.zeros(STANDARD.cells)

    def advantages(self, choices: Choices, credits: np.ndarray) -> np.ndarray:
        """(m,) float32: the credits less the means of their plies, of legal and of illegal choices."""
        return (credits - self.means[choices.plies]).astype(np.float32)

    def move(self, choices: Choices, credits: np.ndarray) -> None:
        """Moves the mean of each ply that was played towards the mean of its new credits."""
        legal = choices.turns != ILLEGAL
        plies, cells = choices.plies[legal], STANDARD.cells
        counts = np.bincount(plies, minlength=cells)
        means = np.bincount(plies, credits[legal], cells) / np.maximum(counts, 1)
        self.means += (1 - self.memory) * np.where(counts > 0, means - self.means, 0.0)


class Run:
    """A training run: its network, the games so far, and how it went."""

    def __init__(self, config: Config):
        self.config, self.path = config, config.folder / "checkpoint.bin"
        self.rng = np.random.default_rng(config.seed)
        opponent_bytes = config.opponent.read_bytes()
        self.network = self._beginning(opponent_bytes)
        self.optimizer = torch.optim.Adam(self.network.parameters(), config.learning_rate)
        opponent = Network.from_bytes(opponent_bytes)
        self.learner = Learner(logits_of(self.network), self.rng)
        self.players = (self.learner, sampling_player(logits_of(opponent), self.rng))
        self.moves: list[np.ndarray] = []  # (batch, cells) int8 of each batch
        self.results: list[np.ndarray] = []  # (batch,) int8, seen by the learner
        self.baseline = Baseline(config.memory)
        self.illegal, self.seconds = 0.0, 0.0  # seconds of processor time: one thread works
        self.settings = checkpoint.settings_of(config, may_change=("games",))
        self.settings["opponent"] = hashlib.sha256(opponent_bytes).hexdigest()
        self._resume()

    def _beginning(self, opponent: bytes) -> Network:
        config = self.config
        if config.start == OPPONENT:
            return Network.from_bytes(opponent)
        return small_network("policy", STANDARD.columns, config.channels, config.hidden, config.seed)

    @property
    def games(self) -> int:
        return sum(map(len, self.results))

    @property
    def running_reward(self) -> float:
        """The mean result of the last games; -1 before there are enough."""
        last = np.concatenate(self.results[-WINDOW:] or [np.empty(0)])[-WINDOW:]
        return float(last.mean()) if len(last) == WINDOW else -1.0

    @property
    def finished(self) -> bool:
        return self.games >= self.config.games or self.running_reward >= self.config.stop

    def step(self) -> None:
        """Plays a batch of games and learns from it."""
        started = time.process_time()
        config = self.config
        leads = alternating(config.batch, BLOCK, self.games)
        played = play_games(ConnectX(config.batch, STANDARD), self.players, leads)
        self.moves.append(played.padded(STANDARD.cells))
        self.results.append(played.outcomes())
        self.learn(self.learner.choices(), played.outcomes())
        self.seconds += time.process_time() - started

    def learn(self, choices: Choices, results: np.ndarray) -> None:
        """One update. Mirrored boards would not do: their actions were not drawn from the policy that they change."""
        credits = returns(choices, results, self.config.discount)
        self.illegal = float((choices.turns == ILLEGAL).mean())
        logits = outputs_of(self.network, choices.boards)["policy"]
        advantages = torch.from_numpy(self.baseline.advantages(choices, credits))
        self.baseline.move(choices, credits)
        loss = loss_of(logits, torch.from_numpy(choices.actions), advantages, self.config.entropy)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self.optimizer.step()

    def save(self) -> None:
        facts = {"seconds": self.seconds}
        games = {"moves": np.concatenate(self.moves), "results": np.concatenate(self.results)}
        other = {"baseline": self.baseline.means, **games}
        checkpoint.save(self.path, self.settings, self.network, self.optimizer, self.rng, facts, other)

    def _resume(self) -> None:
        found = checkpoint.load(self.path, self.settings, self.network, self.optimizer, self.rng)
        if found is not None:
            facts, other = found
            self.baseline.means, self.seconds = other["baseline"], facts["seconds"]
            parts = len(other["results"]) // self.config.batch
            self.moves, self.results = np.split(other["moves"], parts), np.split(other["results"], parts)

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """(games played, mean result) of each batch."""
        means = np.array([part.mean() for part in self.results])
        return np.arange(1, len(means) + 1) * self.config.batch, means

    def publish(self) -> None:
        """Writes the games, the curve, and the network with its entry in the manifest."""
        config = self.config
        facts = {"games": self.games, "running_reward": round(self.running_reward, 3), "seed": config.seed}
        arrays = {"moves": np.concatenate(self.moves), "results": np.concatenate(self.results)}
        meta: dict[str, Any] = {"settings": self.settings, "block": BLOCK}
        write_whole(config.folder / "games.bin", pack(arrays, meta))
        save_curve(config.folder / "curve.png", "games", "mean result v the strong policy agent", {"": self.curve()})
        publish(config.output, self.network.to_bytes(), command_of("policy-gradient", config), facts)


def train(config: Config) -> Run:
    """Trains until the running reward is reached or the games are played; resumes where a checkpoint is."""
    check_output(config.output)
    torch.set_num_threads(1)  # the batches are small: more threads wait for each other
    run = Run(config)
    with progress(config.games, "game", done=run.games, delay=0) as bar:
        while not run.finished:
            run.step()
            if len(run.results) % CHECKPOINT_UPDATES == 0:
                run.save()
            bar.set_postfix(reward=f"{run.running_reward:.2f}", illegal=f"{run.illegal:.1%}", refresh=False)
            bar.update(config.batch)
    run.save()
    run.publish()
    reached = "reached" if run.running_reward >= config.stop else "not reached"
    print(f"running reward {run.running_reward:.2f} after {run.games} games, {config.stop} {reached}; {config.output}")
    return run
