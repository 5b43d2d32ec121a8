"""Trains a policy and value network on exact labels. Checkpoints, resumable, on any device.

The network evaluates what each move and forced replies lead to (training/makers/examples.py). It learns, of each
labelled position:

- move: the probability given to all moves that keep the result, and that given to all perfect ones (quickest win,
  slowest loss), each by its logarithm. No move among equals is preferred.
- score: the exact score of what the network sees, where it is known, 43 classes.

The matrices of the trunk learn by Muon (Jordan et al. 2024), a convolution as a matrix with a row for each output; the
rest learns by AdamW (Loshchilov and Hutter 2019). Half of the batches are mirrored. The published weights are rounded
to whole numbers of 8 bits with a scale for each unit.

Muon is momentum for matrices, each update made nearly orthogonal by Newton-Schulz iterations. ``torch.optim.Muon``
multiplies matrices in bfloat16 always. Where a processor has no instructions for that, one update
of 1280 x 882 weights takes it 12 s; here it takes 0.6 s in float32, with the same result but for rounding.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from connectx_core.afterstates import NEVER, MoveNetwork
from connectx_core.network import Architecture
from connectx_core.position import STANDARD
from connectx_core.torch_form import Network
from connectx_toolkit.games.labelled import Labels
from connectx_toolkit.system.console import progress
from connectx_toolkit.system.cores import usable_cores
from connectx_toolkit.system.files import read_as, write_whole
from connectx_toolkit.training import runs
from connectx_toolkit.training.descent import Descent, device_named, mixed_precision, multiplies_bfloat16
from connectx_toolkit.training.makers.examples import SCORES, ReplyExamples, ReplyTargets, choices_of, is_new
from connectx_toolkit.training.makers.labels import LABELS, TEST, TRAINING, VALIDATION, labels_of, read_labels
from connectx_toolkit.training.options import DEVICES, Options, option
from connectx_toolkit.training.runs import begin_run, publish, save_curve
from connectx_toolkit.training.supervised import layers_of

SHARES = {"good": 1.0, "perfect": 0.5, "score": 0.5}  # weights of the losses


def losses(outputs: dict[str, Tensor], targets: ReplyTargets) -> dict[str, Tensor]:
    """The mean loss of each part, by name.

    A position teaches no policy if the rules show a move that is better than every move that the network evaluates.
    """
    policy, parts = torch.log_softmax(targets.policy(outputs), 1), {}
    for name, right in (("good", targets.good & targets.legal), ("perfect", targets.perfect & targets.legal)):
        chance = torch.logsumexp(policy.masked_fill(~right, NEVER), 1)
        parts[name] = torch.where(right.any(1), -chance, 0).mean()
    parts["score"] = functional.cross_entropy(*targets.known_scores(outputs))
    return parts


def total_loss(parts: dict[str, Tensor]) -> Tensor:
    """The weighted sum."""
    return torch.stack([SHARES[name] * part for name, part in parts.items()]).sum()


MOMENTUM = 0.95  # of the average of gradients, looked ahead by Nesterov's rule
COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the odd polynomial of degree 5 that brings singular values close to 1
NEWTON_ITERATIONS = 5
RMS = 0.2  # root mean square of an update at a learning rate of 1, as AdamW's usually has (Liu et al. 2025)
SMALLEST = 1e-7  # a gradient's norm, at least


def orthogonalise(matrices: Tensor) -> Tensor:
    """Matrices (n, rows, columns) with singular values between some 0.7 and 1.2, in bfloat16 where that is quick."""
    wide = matrices if matrices.shape[1] <= matrices.shape[2] else matrices.mT
    x = wide.to(torch.bfloat16 if multiplies_bfloat16(wide.device) else torch.float32)
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=SMALLEST)
    first, third, fifth = COEFFICIENTS
    for _ in range(NEWTON_ITERATIONS):
        square = x @ x.mT
        x = first * x + (third * square + fifth * square @ square) @ x
    return (x if wide is matrices else x.mT).to(matrices.dtype)


class Muon(torch.optim.Optimizer):
    """For parameters that are matrices, or convolutions as (out, in * height * width), with weight decay as AdamW's.

    For matrices it is ``torch.optim.Muon`` with "match_rms_adamw". Matrices of one shape are made orthogonal together:
    on a GPU the time of a step is that of starting its kernels.
    """

    def __init__(self, matrices: Iterable[Tensor], lr: float, weight_decay: float):
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Changes the matrices by their gradients."""
        for group in self.param_groups:
            alike: dict[tuple[int, ...], list[Tensor]] = {}
            for matrix in group["params"]:
                alike.setdefault(matrix.shape, []).append(matrix)
                if not self.state[matrix]:
                    self.state[matrix]["momentum_buffer"] = torch.zeros_like(matrix)
            torch._foreach_mul_(group["params"], 1 - group["lr"] * group["weight_decay"])
            for matrices in alike.values():
                momenta = [self.state[matrix]["momentum_buffer"] for matrix in matrices]
                gradients = [matrix.grad for matrix in matrices if matrix.grad is not None]
                torch._foreach_lerp_(momenta, gradients, 1 - MOMENTUM)
                ahead = torch._foreach_lerp(gradients, momenta, MOMENTUM)
                updates = orthogonalise(torch.stack([update.flatten(1) for update in ahead]))
                size = group["lr"] * RMS * max(updates.shape[1:]) ** 0.5
                steps = [update.view_as(matrix) for update, matrix in zip(updates, matrices, strict=True)]
                torch._foreach_add_(matrices, steps, alpha=-size)


REPLY_ENCODING = "fours-1"
HEADS = (("move", 1), ("score", SCORES))
ADAM_SHARE = 0.25  # of Muon's learning rate, for what AdamW learns
EASY, EASY_PARTS = 0.98, 6  # probability of the perfect moves in an easy position; one in so many comes in an epoch
OPENING_PLIES, OPENING_TIMES = 8, 4  # positions of these plies, of which every one is known, come so often in an epoch
REPORTS = 20  # measurements in a run
MEASURED_AT_ONCE = 1000  # positions
CHECKPOINT_FILE = "checkpoint.bin"


@dataclass
class Config(Options):
    """Options of ``train.py network``."""

    METHOD = "network"
    RESUMES = True

    labels: Path = option(LABELS, "file of labels that train.py labels has made", reads=True)
    layers: str = option("dense:1280,dense:448,dense:64", "kind and width of each layer of the trunk")
    start: Path = option(
        Path(), "file of a network of the same layers to go on from; without it, random weights", reads=True
    )
    samples: int = option(6_000_000, "positions to train on, counting repetitions", least=1)
    batch: int = option(1024, "positions in a step", least=1)
    learning_rate: float = option(0.02, "largest learning rate, of Muon", above=0)
    weight_decay: float = option(0.01, "weight decay of both optimizers, times the learning rate", least=0)
    seed: int = option(1, "random seed of the first weights and of the order of the positions", least=0)
    device: str = option("auto", "device of torch, which also holds all positions", among=DEVICES, is_free=True)
    run: Path = option(Path("runs/network"), "folder of the run: checkpoint, log and curves")
    output: Path = option(Path(), "file to write: the network", in_run="policy.bin")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.architecture()

    def architecture(self) -> Architecture:
        return Architecture(REPLY_ENCODING, layers_of(self.layers), HEADS, STANDARD[:3])

    def examples(self, labels: Labels) -> ReplyExamples:
        """Raises ValueError if the labels leave nothing to learn."""
        return ReplyExamples(labels, REPLY_ENCODING, self.where)

    @property
    def steps(self) -> int:
        return max(1, self.samples // self.batch)

    @property
    def where(self) -> torch.device:
        return device_named(self.device)


@torch.inference_mode()
def evaluate_all(network: Network, examples: ReplyExamples) -> Iterator[tuple[dict[str, Tensor], ReplyTargets]]:
    """The network's outputs for all examples and their targets, ``MEASURED_AT_ONCE`` at a time."""
    for start in range(0, len(examples), MEASURED_AT_ONCE):
        planes, targets = examples.batch(np.arange(start, min(start + MEASURED_AT_ONCE, len(examples))))
        yield head_outputs(network, planes, len(targets.score)), targets


def measure_network(network: Network, examples: ReplyExamples) -> dict[str, float]:
    """The loss, and the shares of right moves, as agents choose them but for mirror images."""
    losing, columns = 0.0, []
    for outputs, targets in evaluate_all(network, examples):
        losing += float(total_loss(losses(outputs, targets))) * len(targets.good)
        columns.append(targets.worth(outputs).argmax(1))
    return {"loss": losing / len(examples), **shares_right(np.concatenate(columns), examples.labels)}


def head_outputs(network: torch.nn.Module, planes: Tensor, count: int) -> dict[str, Tensor]:
    """The network's outputs by head for the first ``count`` positions, float32, computed in mixed precision."""
    with mixed_precision(planes.device):
        outputs = network(planes)
    return {name: output[:count].float() for name, output in outputs.items()}


def shares_right(columns: np.ndarray, labels: Labels) -> dict[str, float]:
    """Shares of the chosen moves, (n,), that are good (of all, and of critical positions) and perfect."""
    good, perfect = (moves[np.arange(len(labels)), columns] for moves in (labels.good, labels.perfect))
    shares = {"good": good, "good_critical": good[labels.critical], "perfect": perfect}
    return {name: float(share.mean()) for name, share in shares.items()}


class Trainer(Descent):
    """A network in training: everything that is in a checkpoint."""

    def __init__(self, config: Config):
        torch.manual_seed(config.seed)
        network, self.config = Network(config.architecture()).to(config.where), config
        self.start = None if config.start == Path() else read_as(Network.from_bytes, config.start).to(config.where)
        if self.start:
            if self.start.architecture != network.architecture:
                raise ValueError(f"{config.start} has the layers {self.start.architecture.layers}, not {config.layers}")
            network.load_state_dict(self.start.state_dict())
        super().__init__(network, optimizers_of(network, config), config.steps)
        self._modules = {"network": self.network, "average": self.average}  # by their names in a checkpoint
        self._optimizers = dict(zip(("optimizer", "optimizer-1"), self.optimizers, strict=False))
        self.log: list[dict[str, float]] = []

    def learn(self, planes: Tensor, targets: ReplyTargets) -> Tensor:
        """One step; its loss, a number that stays on the device."""
        return self.descend(total_loss(losses(head_outputs(self.network, planes, len(targets.score)), targets)))

    def save(self, path: Path) -> None:
        states = {f"{name}:": kept.state_dict() for name, kept in self._modules.items()}
        for name, optimizer in self._optimizers.items():
            states |= {f"{name}:{number}:": state for number, state in optimizer.state_dict()["state"].items()}
        arrays = {start + key: value.cpu().numpy() for start, state in states.items() for key, value in state.items()}
        runs.save_checkpoint(path, self.config.settings, {"step": self.step, "log": self.log}, arrays)

    def load(self, path: Path) -> None:
        """Restores a checkpoint, if there is one. Raises ValueError if it is damaged or from another run."""
        checkpoint = runs.load_checkpoint(path, self.config.settings)
        if checkpoint is None:
            return
        with runs.restoring(path):
            for name, kept in self._modules.items():
                kept.load_state_dict(part(checkpoint.arrays, f"{name}:"))
            for name, optimizer in self._optimizers.items():
                now = optimizer.state_dict()
                numbers = [number for group in now["param_groups"] for number in group["params"]]
                state = {number: part(checkpoint.arrays, f"{name}:{number}:") for number in numbers}
                optimizer.load_state_dict(now | {"state": state})
            self.step, self.log = checkpoint.facts["step"], checkpoint.facts["log"]


def part(arrays: Mapping[str, np.ndarray], start: str) -> dict[str, Tensor]:
    """The arrays whose names begin so, as tensors, by the rest of their names. Raises KeyError if there are none."""
    named = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
    if not named:
        raise KeyError(start)
    return {name: torch.from_numpy(array) for name, array in named.items()}


def optimizers_of(network: Network, config: Config) -> list[torch.optim.Optimizer]:
    """Muon for the matrices and convolutions of the trunk, AdamW for the rest."""
    heads = {name for name, _ in network.architecture.heads}
    matrices: list[Tensor] = []
    others: list[Tensor] = []
    for name, parameter in network.named_parameters():
        is_matrix = parameter.ndim > 1 and name.removesuffix("_weight") not in heads
        (matrices if is_matrix else others).append(parameter)
    rate, decay = config.learning_rate, config.weight_decay
    adam = torch.optim.AdamW(others, ADAM_SHARE * rate, weight_decay=decay, fused=True)
    return [Muon(matrices, rate, decay), adam] if matrices else [adam]


def is_easy(network: Network, examples: ReplyExamples) -> np.ndarray:
    """(n,) bool: whether a network already gives nearly all probability to the perfect moves of these examples."""
    parts = []
    with progress(len(examples), "position", "what is known") as bar:
        for outputs, targets in evaluate_all(network, examples):
            policy = torch.softmax(targets.policy(outputs), 1)
            parts.append(torch.where(targets.perfect & targets.legal, policy, 0).sum(1) > EASY)
            bar.update(len(policy))
    return torch.cat(parts).cpu().numpy()


class Epochs:
    """The rows of each epoch: those of openings several times, and of the easy ones another part each time.

    Of a network that was trained already 64% of the positions were easy, with 0.6% of the loss: an epoch takes half the
    time.
    """

    def __init__(self, labels: Labels, easy: np.ndarray, seed: int, batch: int):
        rows = np.repeat(np.arange(len(labels)), np.where(labels.plies < OPENING_PLIES, OPENING_TIMES, 1))
        self.seed, self.hard, easy_rows = seed, rows[~easy[rows]], rows[easy[rows]]
        shuffled = np.random.default_rng(seed).permutation(easy_rows)
        self.easy = shuffled[: len(shuffled) // EASY_PARTS * EASY_PARTS].reshape(EASY_PARTS, -1)
        self.count = len(self.hard) + self.easy.shape[1]
        self.batch = min(batch, self.count)

    def batches(self, step: int) -> Iterator[tuple[np.ndarray, bool]]:
        """(rows, whether mirrored) of each batch from ``step`` on; an epoch's order depends on its number."""
        in_epoch = self.count // self.batch
        while True:
            number = step // in_epoch
            rng = np.random.default_rng((self.seed, number))
            rows = rng.permutation(np.concatenate([self.hard, self.easy[number % EASY_PARTS]]))
            mirrored = rng.random(in_epoch) < 0.5
            for index in range(step % in_epoch, in_epoch):
                yield rows[index * self.batch : (index + 1) * self.batch], bool(mirrored[index])
                step += 1


CURVES = ("training_loss", "loss", "good", "good_critical", "perfect")  # of the log, which are plotted


def plot_log(log: list[dict[str, float]], path: Path) -> None:
    """Plots the losses, and the shares of right moves on validation positions."""
    samples = np.array([entry["samples"] / 1e6 for entry in log])
    curves = {name.replace("_", " "): (samples, np.array([entry[name] for entry in log])) for name in CURVES}
    save_curve(path, "million positions", "loss, share of validation positions", curves)


def run_training(trainer: Trainer, training: ReplyExamples, validation: ReplyExamples) -> None:
    """Trains to the end, with a measurement, a checkpoint and the curves now and then."""
    config, recent, started = trainer.config, [], time.perf_counter()
    every = max(1, config.steps // REPORTS)
    easy = is_easy(trainer.start, training) if trainer.start else np.zeros(len(training), bool)
    order = Epochs(training.labels, easy, config.seed, config.batch).batches(trainer.step)
    with progress(config.steps, "step", done=trainer.step, delay=0) as bar:
        while trainer.step < config.steps:
            rows, mirrored = next(order)
            recent.append(trainer.learn(*training.batch(rows, mirrored)))
            bar.update()
            if trainer.step % every == 0 or trainer.step == config.steps:
                loss = float(torch.stack(recent).mean())
                rate = len(recent) * config.batch / (time.perf_counter() - started)
                entry = {"samples": trainer.step * config.batch, "training_loss": loss, "positions_a_second": rate}
                trainer.log.append(entry | measure_network(trainer.average, validation))
                recent, started = [], time.perf_counter()
                bar.write(json.dumps({key: round(value, 4) for key, value in trainer.log[-1].items()}))
                trainer.save(config.run / CHECKPOINT_FILE)
                write_whole(config.run / "log.json", json.dumps(trainer.log, indent=1).encode())
                plot_log(trainer.log, config.run / "curves.png")


def measured_on(labels: Labels, training: Labels, seed: int) -> dict[str, Labels]:
    """Positions with a choice (``choices_of``): new ones, and, of the same plies, as many that it learns from.

    New is a test position if also nothing that its moves lead to is seen in training: few of the openings are.
    """
    parts = labels_of(labels, TEST), training.take(np.flatnonzero(training.whole))
    test, known = (choices_of(part)[0] for part in parts)
    new = test.take(np.flatnonzero(is_new(test, training)))
    rows = np.random.default_rng(seed).permutation(len(known))
    alike = [rows[known.plies[rows] == ply][:count] for ply, count in enumerate(np.bincount(new.plies))]
    return {"new_positions": new, "known_positions": known.take(np.concatenate(alike))}


def train(config: Config) -> dict[str, Any]:
    """Trains, or resumes training, then writes the network and its accuracy as agents use it."""
    labels = read_labels(config.labels)
    begin_run(config)
    torch.set_num_threads(len(usable_cores()))
    torch.set_flush_denormal(True)  # many gradients are next to nothing, and the processor slow with such numbers
    trainer = Trainer(config)
    trainer.load(config.run / CHECKPOINT_FILE)
    training, validation = (config.examples(labels_of(labels, split)) for split in (TRAINING, VALIDATION))
    if len(training) < config.batch:
        few = f"{len(training):,} positions to learn from, fewer than a batch of {config.batch:,}"
        raise ValueError(f"{config.labels} has {few}: label more games")
    run_training(trainer, training, validation)
    content = trainer.average.to_bytes("int8")
    facts: dict[str, Any] = {"parameters": trainer.network.architecture.size, "training_positions": len(training)}
    rates = []
    for name, part in measured_on(labels, training.labels, config.seed).items():
        policy = MoveNetwork.from_bytes(content).evaluate_many(part.positions, part.masks)["policy"]
        right = shares_right(np.where(part.legal, policy, -np.inf).argmax(1), part)  # as agents play, mirrored, too
        facts[name] = {"number": len(part)} | {kind: round(share, 4) for kind, share in right.items()}
        rates.append(f"good moves in {right['good']:.1%} and perfect ones in {right['perfect']:.1%} of {len(part):,} ")
    score = f"{rates[0]}new positions; {rates[1]}that it learnt"
    publish(config, content, facts, score)
    return facts
