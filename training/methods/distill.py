"""Trains the policy and value network on exact labels: the strongest teacher. Checkpoints, resumable, on any device.

Targets of a position with the exact score of every move:

- policy: the probability given to all moves that keep the result, and that given to all perfect ones (quickest win,
  slowest loss), each by its logarithm. No move among equals is preferred.
- value: win, draw or loss, three classes. distance: plies to the end of perfect play, as a share of the board's cells.
- results: win, draw or loss of each move. It only helps to train, and like distance is not published.

Half of the batches are mirrored. The learning rate warms up and falls as a cosine (Loshchilov and Hutter 2017), the
optimizer is AdamW (2019), and what is measured and published is the exponential average of the weights.
"""

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn import functional

from connectx.encoding import bits_of
from connectx.geometry import STANDARD
from connectx.nets import Architecture, PlainNetwork
from connectx.score import plies_to_end
from connectx.torch_nets import Network
from console.files import write_whole
from console.progress import progress
from training.data.shards import TEST, TRAINING, VALIDATION, Labels, labels_of, read_labels
from training.learning import torch_state
from training.support import checkpoint
from training.support.device import NAMES, device_named, mixed_precision
from training.support.manifest import check_output, publish
from training.support.options import Options, command_of, option
from training.support.plots import save_figure

HEADS = (("policy", 7), ("value", 3), ("distance", 1), ("results", 21))
PUBLISHED = ("policy", "value")
WARM_UP = 0.03  # share of the steps
AVERAGED = 1000  # steps over which the weights are averaged
SHARES = {"kept": 1.0, "perfect": 0.5, "value": 0.5, "distance": 0.5, "results": 0.5}  # weights of the losses
CHECKPOINT = "checkpoint.bin"
CPU = torch.device("cpu")
NEVER = -1e9  # the logit of a move that cannot be played


@dataclass
class Config(Options):
    """Options of ``train.py distill``."""

    labels: Path = option(Path("data/labels"), "folder that train.py labels has made")
    encoding: str = option("lines-1", "of the positions, by name and version")
    layers: str = option("dense:640,dense:288,dense:64", "kind:width of each layer")
    samples: int = option(40_000_000, "positions to train on, counting repetitions", least=1)
    batch: int = option(512, "positions in a step", least=1)
    learning_rate: float = option(0.002, "its largest value", above=0)
    weight_decay: float = option(0.1, "of AdamW", least=0)
    seed: int = option(1, "of the first weights and of the order of the positions")
    threads: int = option(1, "of torch", least=1)
    device: str = option("auto", "of torch; on cuda in mixed precision, with all positions kept there", among=NAMES)
    report_every: int = option(4_000_000, "positions between two measurements on validation positions", least=1)
    run: Path = option(Path("runs/distill"), "folder of checkpoint, log and curves")
    output: Path = option(Path("agents/weights/net.bin"), "the network")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.architecture()

    def architecture(self) -> Architecture:
        return Architecture(self.encoding, parse_layers(self.layers), HEADS, STANDARD[:3])

    @property
    def steps(self) -> int:
        return max(1, self.samples // self.batch)

    @property
    def where(self) -> torch.device:
        return device_named(self.device)


def parse_layers(text: str) -> tuple[tuple[str, int], ...]:
    """Layers from a text such as "conv:32,dense:64". Raises ValueError if it has another form."""
    try:
        pairs = [part.split(":") for part in text.split(",") if part]
        return tuple((kind, int(width)) for kind, width in pairs)
    except ValueError:
        raise ValueError(f"layers should look like conv:32,dense:64, not {text!r}") from None


class Targets(NamedTuple):
    """The targets of a network for n positions."""

    kept: Tensor  # (n, columns) bool
    perfect: Tensor  # (n, columns) bool
    legal: Tensor  # (n, columns) bool
    value: Tensor  # (n,) int64: 0 loss, 1 draw, 2 win
    distance: Tensor  # (n,) float32
    results: Tensor  # (n, columns) int64, of each move, coded as in value

    def to(self, device: torch.device) -> "Targets":
        return Targets._make(part.to(device) for part in self)

    def take(self, rows: Tensor, mirrored: bool) -> "Targets":
        taken = [part[rows] for part in self]
        return Targets._make(part.flip(1) if mirrored and part.ndim > 1 else part for part in taken)


def targets_of(labels: Labels) -> Targets:
    cells = STANDARD.cells
    table = np.array([[plies_to_end(s, ply, cells) for s in range(-cells, cells + 1)] for ply in range(cells)])
    distance = table[labels.plies, labels.values.astype(int) + cells] / cells
    return Targets(
        kept=torch.from_numpy(labels.kept),
        perfect=torch.from_numpy(labels.perfect),
        legal=torch.from_numpy(labels.legal),
        value=torch.from_numpy(classes(labels.values)),
        distance=torch.from_numpy(distance).float(),
        results=torch.from_numpy(classes(labels.scores)),
    )


def classes(scores: np.ndarray) -> np.ndarray:
    """The class of each score: 0 loss, 1 draw, 2 win, int64."""
    return np.sign(scores).astype(np.int64) + 1


class Examples(NamedTuple):
    """Labelled positions, ready for a network, on its device."""

    labels: Labels
    bits: Tensor  # (n, planes) int64
    targets: Targets

    @classmethod
    def of(cls, labels: Labels, encoding: str, device: torch.device = CPU) -> "Examples":
        bits = bits_of(labels.positions, labels.masks, STANDARD, encoding)
        return cls(labels, torch.from_numpy(bits).to(device), targets_of(labels).to(device))

    def batch(self, rows: np.ndarray, mirrored: bool = False) -> tuple[Tensor, Targets]:
        there = torch.from_numpy(rows).to(self.bits.device)
        planes = planes_of_bits(self.bits[there])
        return planes.flip(3) if mirrored else planes, self.targets.take(there, mirrored)


def planes_of_bits(bits: Tensor) -> Tensor:
    """Bitboards, (n, planes) int64, cell by cell where they lie: (n, planes, rows, columns) float32 of 0 and 1.

    As ``connectx.encoding.unpack_planes``, for any device.
    """
    columns, rows = torch.arange(STANDARD.columns), torch.arange(STANDARD.rows)
    cells = (columns * STANDARD.stride + rows[:, None]).to(bits.device)
    return ((bits[:, :, None, None] >> cells) & 1).float()


def losses(outputs: dict[str, Tensor], targets: Targets) -> dict[str, Tensor]:
    """The mean loss of each part, by name."""
    policy = torch.log_softmax(outputs["policy"].masked_fill(~targets.legal, NEVER), 1)
    results = outputs["results"].unflatten(1, (-1, 3))[targets.legal]
    return {
        "kept": -torch.logsumexp(policy.masked_fill(~targets.kept, NEVER), 1).mean(),
        "perfect": -torch.logsumexp(policy.masked_fill(~targets.perfect, NEVER), 1).mean(),
        "value": functional.cross_entropy(outputs["value"], targets.value),
        "distance": functional.mse_loss(outputs["distance"][:, 0], targets.distance),
        "results": functional.cross_entropy(results, targets.results[targets.legal]),
    }


def total(parts: dict[str, Tensor]) -> Tensor:
    return torch.stack([SHARES[name] * part for name, part in parts.items()]).sum()


@torch.inference_mode()
def outputs_for(network: torch.nn.Module, examples: Examples, size: int = 1000) -> dict[str, Tensor]:
    """The network's outputs for all examples."""
    starts = range(0, len(examples.labels), size)
    with mixed_precision(examples.bits.device):
        parts = [network(examples.batch(np.arange(s, min(s + size, len(examples.labels))))[0]) for s in starts]
    return {name: torch.cat([part[name] for part in parts]).float() for name in parts[0]}


def measure(network: torch.nn.Module, examples: Examples) -> dict[str, float]:
    """The loss, and ``shares_right`` without mirror images."""
    outputs = outputs_for(network, examples)
    loss = {"loss": float(total(losses(outputs, examples.targets)))}
    return loss | shares_right({name: output.cpu().numpy() for name, output in outputs.items()}, examples.labels)


def shares_right(outputs: dict[str, np.ndarray], labels: Labels) -> dict[str, float]:
    """Shares of chosen moves that keep the result (in all, in decisive positions) or are perfect, of right values."""
    columns = np.where(labels.legal, outputs["policy"], -np.inf).argmax(1)
    kept, perfect = (moves[np.arange(len(labels)), columns] for moves in (labels.kept, labels.perfect))
    right = outputs["value"].argmax(1) == classes(labels.values)
    decisive = kept[labels.decisive]
    shares = {"kept": kept, "kept_decisive": decisive, "perfect": perfect, "value": right}
    return {name: float(share.mean()) for name, share in shares.items()}


class Trainer:
    """A network in training: everything that is in a checkpoint."""

    def __init__(self, config: Config):
        torch.manual_seed(config.seed)
        self.config, self.step = config, 0
        self.network, self.average = (Network(config.architecture()).to(config.where) for _ in range(2))
        self.average.load_state_dict(self.network.state_dict())
        self.optimizer = torch.optim.AdamW(self.network.parameters(), weight_decay=config.weight_decay)
        self.log: list[dict[str, float]] = []

    def learning_rate(self) -> float:
        done = self.step / self.config.steps
        return self.config.learning_rate * min(1.0, (done + 1e-4) / WARM_UP) * (1 + math.cos(math.pi * done)) / 2

    def learn(self, planes: Tensor, targets: Targets) -> Tensor:
        """One step; its loss, a number that stays on the device."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate()
        with mixed_precision(planes.device):
            outputs = self.network(planes)
        loss = total(losses({name: output.float() for name, output in outputs.items()}, targets))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1
        weight = 1 / min(AVERAGED, self.step + 1)
        with torch.no_grad():
            for mean, now in zip(self.average.parameters(), self.network.parameters(), strict=True):
                mean.lerp_(now, weight)
        return loss.detach()

    @property
    def settings(self) -> dict[str, Any]:
        """What a run must share with the one that it goes on with: a run can be made longer or shorter."""
        return checkpoint.settings_of(self.config, may_change=("samples", "report_every", "threads", "device"))

    def save(self, path: Path) -> None:
        arrays = torch_state.arrays_of(self.optimizer, network=self.network, average=self.average)
        checkpoint.save(path, self.settings, {"step": self.step, "log": self.log}, arrays)

    def load(self, path: Path) -> None:
        """Restores a checkpoint, if there is one. Raises ValueError if it is damaged or from another run."""
        found = checkpoint.load(path, self.settings)
        if found is None:
            return
        with checkpoint.restoring(path):
            torch_state.restore(found.arrays, self.optimizer, network=self.network, average=self.average)
            self.step, self.log = found.facts["step"], found.facts["log"]


def batches(config: Config, count: int, step: int) -> Iterator[tuple[np.ndarray, bool]]:
    """(rows, whether mirrored) of each batch from ``step`` on; the permutation of an epoch depends on its number."""
    size = min(config.batch, count)
    in_epoch = count // size
    while True:
        rng = np.random.default_rng((config.seed, step // in_epoch))
        order, mirrored = rng.permutation(count), rng.random(in_epoch) < 0.5
        for index in range(step % in_epoch, in_epoch):
            yield order[index * size : (index + 1) * size], bool(mirrored[index])
            step += 1


def plot(log: list[dict[str, float]], path: Path) -> None:
    """Plots the curves of a run as PNG: losses, and shares on validation positions."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    samples = [entry["samples"] / 1e6 for entry in log]
    for name in ("training_loss", "loss"):
        left.plot(samples, [entry[name] for entry in log], label=name.replace("_", " "))
    for name in ("kept", "kept_decisive", "perfect", "value"):
        right.plot(samples, [100 * entry[name] for entry in log], label=name.replace("_", " "))
    for axes, title in ((left, "loss"), (right, "% of validation positions")):
        axes.set_title(title)
        axes.set_xlabel("million positions")
        axes.grid(alpha=0.3)
        axes.legend()
    save_figure(figure, path)


def examples_of(labels: Labels, split: int, config: Config) -> Examples:
    return Examples.of(labels_of(labels, split), config.encoding, config.where)


def run(trainer: Trainer, training: Examples, validation: Examples) -> None:
    """Trains to the end, with a measurement, a checkpoint and the curves now and then."""
    config, recent, started = trainer.config, [], time.perf_counter()
    every = max(1, config.report_every // config.batch)
    order = batches(config, len(training.labels), trainer.step)
    with progress(config.steps, "step", done=trainer.step, delay=0) as bar:
        while trainer.step < config.steps:
            recent.append(trainer.learn(*training.batch(*next(order))))
            bar.update()
            if trainer.step % every == 0 or trainer.step == config.steps:
                loss = float(torch.stack(recent).mean())
                rate = len(recent) * config.batch / (time.perf_counter() - started)
                entry = {"samples": trainer.step * config.batch, "training_loss": loss, "positions_a_second": rate}
                trainer.log.append(entry | measure(trainer.average, validation))
                recent, started = [], time.perf_counter()
                bar.write(json.dumps({key: round(value, 4) for key, value in trainer.log[-1].items()}))
                trainer.save(config.run / CHECKPOINT)
                write_whole(config.run / "log.json", json.dumps(trainer.log, indent=1).encode())
                plot(trainer.log, config.run / "curves.png")


def published(network: Network) -> Network:
    """The network with only the heads that agents use."""
    whole = network.architecture
    heads = tuple(head for head in whole.heads if head[0] in PUBLISHED)
    small = Network(Architecture(whole.encoding, whole.layers, heads, whole.shape))
    small.load_state_dict({name: network.state_dict()[name] for name in small.state_dict()})
    return small


def train(config: Config) -> dict[str, Any]:
    """Trains, or resumes training, then writes the network and its accuracy on test positions, as agents use it."""
    check_output(config.output)
    torch.set_num_threads(config.threads)
    labels = read_labels(config.labels)
    trainer = Trainer(config)
    trainer.load(config.run / CHECKPOINT)
    training, validation = (examples_of(labels, split, config) for split in (TRAINING, VALIDATION))
    run(trainer, training, validation)
    content, test = published(trainer.average.cpu()).to_bytes(), labels_of(labels, TEST)
    network = PlainNetwork.from_bytes(content)
    facts: dict[str, Any] = {"parameters": network.architecture.size}
    facts |= {"training_positions": len(training.labels), "test_positions": len(test)}
    shares = shares_right(network.judge_many(test.positions, test.masks), test)
    facts |= {name: round(share, 4) for name, share in shares.items()}
    publish(config.output, content, command_of("distill", config, ("threads", "report_every", "device")), facts)
    print(json.dumps(facts))
    return facts
