"""The training loop of policies that learn from whole games: play a batch, learn from it, until they play well."""

import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from connectx.torch_nets import Network
from console.progress import progress
from training.learning import torch_state
from training.support import checkpoint

CHECKPOINT_SECONDS = 20.0


class PolicyRun(ABC):
    """A training run, which goes on from its checkpoint where there is one. A method adds what it plays and learns.

    Args:
        config: of the method, with ``games``, ``batch``, ``stop``, ``learning_rate``, ``seed``, ``folder``, ``output``.
        settings: what a checkpoint must share with this run.
        window: how many of the last results the running reward is the mean of.

    Attributes:
        games: played so far.
        results: int8, of each batch: those that the running reward counts, seen by the learner.
        illegal: share of illegal choices in the last batch.
        seconds: of processor time; one thread works.
    """

    def __init__(self, config: Any, network: Network, settings: dict[str, Any], window: int):
        self.config, self.network, self.settings, self.window = config, network, settings, window
        self.rng = np.random.default_rng(config.seed)
        self.optimizer = torch.optim.Adam(network.parameters(), config.learning_rate)
        self.games, self.illegal, self.seconds = 0, 0.0, 0.0
        self.results: list[np.ndarray] = []

    @property
    def running_reward(self) -> float:
        """The mean of the last results; -1 before there are enough."""
        batches = self.window // max(1, min(map(len, self.results), default=1)) + 1
        last = np.concatenate([*self.results[-batches:], np.empty(0)])[-self.window :]
        return float(last.mean()) if len(last) == self.window else -1.0

    @property
    def finished(self) -> bool:
        return self.games >= self.config.games or self.running_reward >= self.config.stop

    def step(self) -> None:
        """Plays a batch of games and learns from it."""
        started = time.process_time()
        self.results.append(self.play_and_learn())
        self.games += self.config.batch
        self.seconds += time.process_time() - started

    @abstractmethod
    def play_and_learn(self) -> np.ndarray:
        """One batch and one update; the results that the running reward counts."""

    @abstractmethod
    def own_arrays(self) -> dict[str, np.ndarray]:
        """What a checkpoint holds besides network, optimizer and results."""

    @abstractmethod
    def take_back(self, arrays: dict[str, np.ndarray]) -> None:
        """Puts back what ``own_arrays`` gave; games and results are back already."""

    @abstractmethod
    def publish(self) -> None:
        """Writes the network with its entry in the manifest, and what else the method leaves."""

    def update(self, loss: Tensor, clip: float | None = None) -> None:
        """One step of the optimizer. ``clip``: the largest norm of the gradient."""
        self.optimizer.zero_grad()
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), clip)
        self.optimizer.step()

    def save(self) -> None:
        facts = {"games": self.games, "seconds": self.seconds, "rng": self.rng.bit_generator.state}
        arrays = torch_state.arrays_of(self.optimizer, network=self.network)
        arrays |= {"results": np.concatenate(self.results), **self.own_arrays()}
        checkpoint.save(self._path, self.settings, facts, arrays)

    def resume(self) -> None:
        """Goes back to the checkpoint, if there is one. Raises ValueError if it is damaged or of another run."""
        found = checkpoint.load(self._path, self.settings)
        if found is None:
            return
        with checkpoint.restoring(self._path):
            torch_state.restore(found.arrays, self.optimizer, network=self.network)
            self.games, self.seconds = found.facts["games"], found.facts["seconds"]
            self.rng.bit_generator.state = found.facts["rng"]
            self.results = np.split(found.arrays["results"], self.games // self.config.batch)
            self.take_back(found.arrays)

    @property
    def _path(self):
        return self.config.folder / "checkpoint.bin"


def train_to_end(run: PolicyRun) -> None:
    """Plays until the running reward is reached or the games are played, then publishes."""
    config, saved = run.config, time.monotonic()
    with progress(config.games, "game", done=run.games, delay=0) as bar:
        while not run.finished:
            run.step()
            if time.monotonic() > saved + CHECKPOINT_SECONDS:
                run.save()
                saved = time.monotonic()
            bar.set_postfix(reward=f"{run.running_reward:.4f}", illegal=f"{run.illegal:.1%}", refresh=False)
            bar.update(config.batch)
    run.save()
    run.publish()
    reached = "reached" if run.running_reward >= config.stop else "not reached"
    print(f"running reward {run.running_reward:.4f} after {run.games} games, {config.stop} {reached}; {config.output}")
