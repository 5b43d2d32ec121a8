"""Supervised training of one head of a network: Adam, mirrored data, checkpoints, accuracy on held-out data."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from connectx.torch_nets import Network
from console.progress import progress
from training.learning import torch_state
from training.learning.networks import logits_of, outputs_of
from training.support import checkpoint
from training.support.plots import save_curve

HELD_OUT = 20  # one game in so many is not used for training
CHECKPOINT_STEPS = 500


class Examples(NamedTuple):
    """Boards and their labels."""

    boards: np.ndarray  # (n, rows, columns) int8, seen by the side to move
    answers: np.ndarray  # (n,) int64, indices of the head's outputs


class Schedule(NamedTuple):
    """Length and speed of a fit."""

    steps: int  # updates
    batch: int  # examples per update
    learning_rate: float  # of Adam, falling to 0 over the steps


class Fit:
    """The training of one head; it resumes from the checkpoint in ``folder``, if there is one.

    Args:
        mirrored: gives the answers, (n,), of the mirrored boards from those of the boards.
        settings: the options that a checkpoint must share with this fit.

    Raises:
        ValueError: the checkpoint is damaged or from another fit.
    """

    def __init__(
        self,
        network: Network,
        training: Examples,
        test: Examples,
        schedule: Schedule,
        mirrored: Callable[[np.ndarray], np.ndarray],
        folder: Path,
        settings: dict[str, Any],
    ):
        self.network, self.training, self.test = network, training, test
        self.schedule, self.folder, self.settings = schedule, folder, settings
        self._head, self._mirrored = network.architecture.heads[0][0], mirrored
        self._rng = np.random.default_rng(settings["seed"])
        self._optimizer = torch.optim.Adam(network.parameters(), schedule.learning_rate)
        self.steps, self.seconds = 0, 0.0  # of processor time; there is only one thread
        self.accuracies: list[tuple[int, float]] = []  # (updates, accuracy on the held-out examples)
        if found := checkpoint.load(self._checkpoint, settings):
            with checkpoint.restoring(self._checkpoint):
                torch_state.restore(found.arrays, self._optimizer, network=network)
                self.steps, self.seconds, self.accuracies, self._rng.bit_generator.state = (
                    found.facts[name] for name in ("steps", "seconds", "accuracies", "rng")
                )

    @property
    def _checkpoint(self) -> Path:
        return self.folder / "checkpoint.bin"

    def step(self) -> float:
        """One update on random examples, half of them mirrored. Returns the loss before the update."""
        started = time.process_time()
        rows = self._rng.integers(len(self.training.boards), size=self.schedule.batch)
        boards, answers = self.training.boards[rows], self.training.answers[rows]
        mirror = self._rng.random(len(rows)) < 0.5
        boards = np.where(mirror[:, None, None], boards[:, :, ::-1], boards)
        answers = np.where(mirror, self._mirrored(answers), answers)
        self._optimizer.param_groups[0]["lr"] = self.schedule.learning_rate * (1 - self.steps / self.schedule.steps)
        outputs = outputs_of(self.network, boards)[self._head]
        loss = functional.cross_entropy(outputs, torch.from_numpy(answers))
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        self.steps += 1
        self.seconds += time.process_time() - started
        return float(loss.detach())

    def accuracy(self) -> float:
        """The share of held-out examples for which the most likely answer is right."""
        outputs = logits_of(self.network, self._head)(self.test.boards)
        return float((outputs.argmax(1) == self.test.answers).mean())

    def save(self) -> None:
        """Measures the accuracy and writes a checkpoint."""
        self.accuracies.append((self.steps, self.accuracy()))
        facts = {"steps": self.steps, "seconds": self.seconds, "accuracies": self.accuracies}
        arrays = torch_state.arrays_of(self._optimizer, network=self.network)
        checkpoint.save(self._checkpoint, self.settings, facts | {"rng": self._rng.bit_generator.state}, arrays)

    def run(self, label: str) -> None:
        """Makes all remaining updates and plots the accuracy in ``curve.png``; ``label`` is the name of its axis."""
        with progress(self.schedule.steps, "update", done=self.steps) as bar:
            while self.steps < self.schedule.steps:
                self.step()
                bar.update()
                if self.steps % CHECKPOINT_STEPS == 0 or self.steps == self.schedule.steps:
                    self.save()
        steps, accuracies = np.array(self.accuracies).T
        save_curve(self.folder / "curve.png", "updates", label, {"": (steps, accuracies)})


def split(games: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the games for training and of those held out, so that no game has positions in both."""
    if games < 2:
        raise ValueError(f"at least 2 games are needed, not {games}: some are held out")
    numbers = np.arange(games)
    return numbers[numbers % HELD_OUT != 0], numbers[numbers % HELD_OUT == 0]
