"""The training loop of policies that learn from whole games: plays a batch, learns from it, until they are good."""

import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from connectx.nets.torch_form import Network
from connectx_toolkit.console.progress import progress, tell_rate
from connectx_toolkit.training.learning import torch_state
from connectx_toolkit.training.support import checkpoint
from connectx_toolkit.training.support.device import device_named

CHECKPOINT_SECONDS = 20.0


class PolicyRun(ABC):
    """A training run that can be resumed from its checkpoint. A method defines how it plays and learns.

    Args:
        config: of the method, with ``games``, ``batch``, ``stop``, ``learning_rate``, ``seed``, ``device``, ``run`` and
            ``output``.
        network: it is moved to the device.
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
        self.games, self.illegal, self.seconds = 0, 0.0, 0.0
        self.results: list[np.ndarray] = []

    @property
    def running_reward(self) -> float:
        """The mean of the last ``window`` results; -1 while there are fewer."""
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
        """Plays one batch and makes one update; returns the results that the running reward counts."""

    @abstractmethod
    def own_arrays(self) -> dict[str, np.ndarray]:
        """The method's own arrays for a checkpoint, besides network, optimizer and results."""

    @abstractmethod
    def take_back(self, arrays: dict[str, np.ndarray]) -> None:
        """Restores what ``own_arrays`` gave; games and results are already restored."""

    @abstractmethod
    def publish(self) -> None:
        """Writes the network with its entry in the manifest, and the method's other files."""

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

    @property
    def _path(self):
        return self.config.run / "checkpoint.bin"


def train_to_end(run: PolicyRun) -> None:
    """Trains until the running reward reaches ``stop`` or all games are played, then publishes."""
    config, saved, started, before = run.config, time.monotonic(), time.perf_counter(), run.games
    with progress(config.games, "game", done=run.games, delay=0) as bar:
        while not run.finished:
            run.step()
            if time.monotonic() > saved + CHECKPOINT_SECONDS:
                run.save()
                saved = time.monotonic()
            bar.set_postfix(reward=f"{run.running_reward:.4f}", illegal=f"{run.illegal:.1%}", refresh=False)
            bar.update(config.batch)
    tell_rate(run.games - before, "games", started, run.device.type)
    run.save()
    run.publish()
    reached = "reached" if run.running_reward >= config.stop else "not reached"
    print(f"running reward {run.running_reward:.4f} after {run.games} games, {config.stop} {reached}; {config.output}")
