"""Trains the policy and value network on exact labels: the strongest teacher. Checkpoints, resumable, on any device.

The network judges a position by what its moves and forced replies lead to, or, with ``--judges position``, by itself;
see ``connectx_toolkit.training.data.examples``. Targets of a position with the exact score of every move:

- policy: the probability given to all moves that keep the result, and that given to all perfect ones (quickest win,
  slowest loss), each by its logarithm. No move among equals is preferred.
- value: win, draw or loss of what the network sees, three classes. score: its exact score, 43 classes. A network that
  judges replies publishes the score, others the value.
- results: win, draw or loss of each move, where the network sees the position. It is not published, either.

Of positions with proven bounds (``train.py labels --bounds``), which come besides in every step, the target is the
probability of the interval that contains the score.

The matrices of the trunk learn by Muon (Jordan et al. 2024), the rest by AdamW (Loshchilov and Hutter 2019). The
learning rates warm up and fall as a cosine (the same, 2017), half of the batches are mirrored, and what is measured and
published is the exponential average of the weights.
It is published in whole numbers, as fine as its file may be large (``training.learning.quantization``).
"""

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from connectx.geometry import STANDARD
from connectx.nets.afterstates import logit_bonus
from connectx.nets.network import POSITION, REPLIES, Architecture, PlainNetwork
from connectx.nets.torch_form import Network
from connectx_toolkit.console.files import write_whole
from connectx_toolkit.console.progress import progress
from connectx_toolkit.training.data.bounds import SUFFIX, read_bounds
from connectx_toolkit.training.data.examples import (
    CLASSES,
    SCORES,
    BoundedExamples,
    BoundedScores,
    Examples,
    Targets,
    classes,
)
from connectx_toolkit.training.data.held_out import ALL_KNOWN, asked_in, unseen, without
from connectx_toolkit.training.data.shards import (
    TEST,
    TRAINING,
    VALIDATION,
    Labels,
    canonical_keys,
    concatenated,
    labels_of,
    read_labels,
)
from connectx_toolkit.training.learning import quantization, torch_state
from connectx_toolkit.training.learning.label_losses import bounds_loss, losses, total
from connectx_toolkit.training.learning.muon import Muon
from connectx_toolkit.training.learning.networks import layers_of, parse_pairs
from connectx_toolkit.training.support import checkpoint
from connectx_toolkit.training.support.device import NAMES, device_named, mixed_precision
from connectx_toolkit.training.support.manifest import begin, publish
from connectx_toolkit.training.support.options import Options, option
from connectx_toolkit.training.support.plots import save_figure

HEADS = {
    POSITION: (("policy", 7), ("value", CLASSES), ("score", SCORES), ("results", 7 * CLASSES)),
    REPLIES: (("move", 1), ("value", CLASSES), ("score", SCORES)),
}
PUBLISHED = {POSITION: ("policy", "value"), REPLIES: ("move", "score")}
WARM_UP = 0.03  # share of the steps
AVERAGED = 1000  # steps over which the weights are averaged
BOUNDS_SHARE = 2.0  # weight of the loss on bounds; with 5 a network learns less from the same labels and bounds
ADAM_SHARE = 0.25  # of Muon's learning rate, for what AdamW learns
ROUNDED_BY = 24_000  # examples whose positions, some five each, say how weights are rounded
CHECKPOINT = "checkpoint.bin"


@dataclass
class Config(Options):
    """Options of ``train.py distill``."""

    METHOD = "distill"

    labels: Path = option(Path("data/labels"), "folder that train.py labels has made", reads=(".shard", ".labels"))
    leave_out: str = option(
        "",
        "folder of shards whose positions of plies 8 on are not learnt from, such as runs/recipes, by which "
        "benchmarks.recipes judges a network",
        reads=(".shard",),
    )
    judges: str = option(
        REPLIES,
        "what the network sees: the position, or what its moves and forced replies lead to",
        among=(POSITION, REPLIES),
    )
    encoding: str = option("fours-1", "of the positions, by name and version")
    layers: str = option("dense:1280,dense:448,dense:64", "kind:width of each layer")
    samples: int = option(43_000_000, "positions to train on, counting repetitions", least=1)
    batch: int = option(1024, "positions in a step", least=1)
    bounds: str = option("", "folder of bounds that train.py labels --bounds has kept", reads=(SUFFIX,))
    bounds_batch: int = option(8192, "positions with proven bounds in a step, if there are bounds", least=1)
    moves_share: float = option(1.0, "weight of the losses of moves; what is reported has 1", least=0)
    learning_rate: float = option(0.02, "of Muon, its largest value", above=0)
    weight_decay: float = option(0.01, "of both optimizers", least=0)
    openings: int = option(
        8, "times that positions of plies 0 to 7, of which every one is known, are in an epoch", least=1
    )
    often: str = option(
        "", "folders of the labels and how many times their positions are in an epoch, such as walks11:4,walks13:4"
    )
    start: str = option(
        "",
        "file of a network whose weights it begins with, of the same layers or narrower ones; without: random ones",
        reads=(".bin",),
    )
    start_share: float = option(
        0.0,
        "of the weights that it begins with in those that it publishes: what is new costs less of what was known",
        least=0,
        most=1,
    )
    seed: int = option(1, "of the first weights and of the order of the positions")
    threads: int = option(1, "number of torch threads", least=1, is_free=True)
    file_bytes: int = option(
        900_000, "of the network's file, at most: its weights are rounded to steps as fine as that allows", least=1
    )
    device: str = option("auto", "of torch, where all positions are kept", among=NAMES, is_free=True)
    report_every: int = option(
        4_000_000, "positions between two measurements on validation positions", least=1, is_free=True
    )
    run: Path = option(Path("runs/distill"), "folder of checkpoint, log and curves")
    output: Path = option(Path(), "the network", in_run="net.bin")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.architecture()
        parse_pairs(self.often, "often")
        if self.start_share and not self.start:
            raise ValueError("start_share needs a network to begin with, --start")

    def architecture(self) -> Architecture:
        layers = layers_of(self.layers)
        return Architecture(self.encoding, layers, HEADS[self.judges], STANDARD[:3], self.judges)

    @property
    def steps(self) -> int:
        return max(1, self.samples // self.batch)

    @property
    def where(self) -> torch.device:
        return device_named(self.device)


@torch.inference_mode()
def measure(network: Network, examples: Examples, size: int = 1000) -> dict[str, float]:
    """The loss, and the shares of right moves, as agents choose them but for threats and mirror images, and values."""
    losing, columns, values = 0.0, [], []
    for start in range(0, len(examples), size):
        rows = np.arange(start, min(start + size, len(examples)))
        planes, targets = examples.batch(rows)
        outputs = outputs_of(network, planes, len(targets.score))
        losing += float(total(losses(outputs, targets))) * len(rows)
        policy = targets.policy(outputs).cpu().numpy()
        if network.architecture.judges == REPLIES:
            policy += logit_bonus(targets.chances_of_moves(torch.softmax(outputs["score"], 1)).cpu().numpy())
        columns.append(policy.argmax(1))
        values.append((outputs["value"].argmax(1) == targets.value).cpu().numpy())
    shares = shares_right(np.concatenate(columns), examples.labels)
    return {"loss": losing / len(examples), **shares, "value": float(np.concatenate(values).mean())}


def outputs_of(network: torch.nn.Module, planes: Tensor, count: int) -> dict[str, Tensor]:
    """The network's outputs by head for the first ``count`` positions, float32, computed in mixed precision."""
    with mixed_precision(planes.device):
        outputs = network(planes)
    return {name: output[:count].float() for name, output in outputs.items()}


def shares_right(columns: np.ndarray, labels: Labels) -> dict[str, float]:
    """Shares of the chosen moves, (n,), that keep the result (in all, in decisive positions) or are perfect."""
    kept, perfect = (moves[np.arange(len(labels)), columns] for moves in (labels.kept, labels.perfect))
    shares = {"kept": kept, "kept_decisive": kept[labels.decisive], "perfect": perfect}
    return {name: float(share.mean()) for name, share in shares.items()}


class Trainer:
    """A network in training: everything that is in a checkpoint."""

    def __init__(self, config: Config):
        self.config, self.step = config, 0
        self.network, self.average = (
            fresh_network(config.architecture(), config.seed).to(config.where) for _ in range(2)
        )
        if config.start:
            begin_with(self.network, Path(config.start))
        self.average.load_state_dict(self.network.state_dict())
        self.rates, self.optimizers = optimizers_of(self.network, config)
        self.log: list[dict[str, float]] = []

    def speed(self) -> float:
        """The share of the learning rates."""
        done = self.step / self.config.steps
        return min(1.0, (done + 1e-4) / WARM_UP) * (1 + math.cos(math.pi * done)) / 2

    def learn(self, planes: Tensor, targets: Targets, bounded: tuple[Tensor, BoundedScores] | None = None) -> Tensor:
        """One step; its loss on the labels, a number that stays on the device."""
        speed = self.speed()
        parts = losses(outputs_of(self.network, planes, len(targets.score)), targets)
        loss, shown = total(parts, self.config.moves_share), total(parts).detach()
        if bounded:
            planes, ends = bounded
            loss = loss + BOUNDS_SHARE * bounds_loss(outputs_of(self.network, planes, len(planes))["score"], ends)
        self.network.zero_grad()
        loss.backward()
        for rate, optimizer in zip(self.rates, self.optimizers, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = rate * speed
            optimizer.step()
        self.step += 1
        weight = 1 / min(AVERAGED, self.step + 1)
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.parameters()), list(self.network.parameters()), weight)
        return shown

    def save(self, path: Path) -> None:
        arrays = torch_state.arrays_of(*self.optimizers, network=self.network, average=self.average)
        checkpoint.save(path, self.config.settings, {"step": self.step, "log": self.log}, arrays)

    def load(self, path: Path) -> None:
        """Restores a checkpoint, if there is one. Raises ValueError if it is damaged or from another run."""
        found = checkpoint.load(path, self.config.settings)
        if found is None:
            return
        with checkpoint.restoring(path):
            torch_state.restore(found.arrays, *self.optimizers, network=self.network, average=self.average)
            self.step, self.log = found.facts["step"], found.facts["log"]


def fresh_network(architecture: Architecture, seed: int) -> Network:
    """Random weights; those of the trunk depend on its layers and the seed alone."""
    torch.manual_seed(seed)
    return Network(architecture)


def begin_with(network: Network, path: Path) -> None:
    """Gives a network the weights of a published one; heads that are not published keep their own.

    Where its dense layers are wider, it computes the same: the new units keep their random inputs, and what was known
    does not yet look at them (Chen et al. 2016, "Net2Net").

    Raises:
        ValueError: the file is damaged, or of a network of another kind.
        OSError: it cannot be read.
    """
    known = Network.from_bytes(path.read_bytes())
    expected, found = published_architecture(network.architecture), known.architecture
    alike = replace(found, layers=()) == replace(expected, layers=()) and len(found.layers) == len(expected.layers)
    layers = zip(found.layers, expected.layers, strict=True) if alike else ()
    if not alike or not all(a == b or (a[0] == b[0] == "dense" and a[1] < b[1]) for a, b in layers):
        raise ValueError(f"{path} is a network of {found!r}, expected {expected!r} or narrower dense layers")
    own = network.state_dict()  # shares its memory with the parameters
    for name, value in known.state_dict().items():
        own[name][: len(value)] = 0
        own[name][tuple(slice(size) for size in value.shape)] = value


def optimizers_of(network: Network, config: Config) -> tuple[list[float], list[torch.optim.Optimizer]]:
    """Muon for the matrices of the trunk, AdamW for biases, heads and convolutions, and the learning rates of both."""
    heads = {name for name, _ in network.architecture.heads}
    matrices: list[Tensor] = []
    others: list[Tensor] = []
    for name, parameter in network.named_parameters():
        is_matrix = parameter.ndim == 2 and name.removesuffix("_weight") not in heads
        (matrices if is_matrix else others).append(parameter)
    rates, decay = [config.learning_rate, ADAM_SHARE * config.learning_rate], config.weight_decay
    adam = torch.optim.AdamW(others, rates[1], weight_decay=decay, fused=True)
    if not matrices:
        return rates[1:], [adam]
    return rates, [Muon(matrices, rates[0], decay), adam]


def epoch_of(labels: Labels, config: Config) -> np.ndarray:
    """The rows of an epoch: each once, those of plies 0 to 7 and of some folders as often as is wanted.

    Raises:
        ValueError: a folder has no labels, or a damaged file.
    """
    times = np.where(labels.plies < ALL_KNOWN, config.openings, 1)
    keys = canonical_keys(labels.positions, labels.masks, STANDARD)
    for folder, wanted in parse_pairs(config.often, "often"):
        found = read_labels(config.labels / folder)
        times[np.isin(keys, canonical_keys(found.positions, found.masks, STANDARD))] = wanted
    return np.repeat(np.arange(len(labels)), times)


def batches(seed: int, count: int, batch: int, step: int) -> Iterator[tuple[np.ndarray, bool]]:
    """(rows, whether mirrored) of each batch from ``step`` on; the permutation of an epoch depends on its number."""
    size = min(batch, count)
    in_epoch = count // size
    while True:
        rng = np.random.default_rng((seed, step // in_epoch))
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
    return Examples(labels_of(labels, split), config.architecture(), config.where)


def bounded_examples(held_out: Labels, config: Config) -> BoundedExamples | None:
    """Those of the bounds that tell nothing of positions that are held out; None if no bounds are wanted.

    Raises:
        ValueError: there are none in the folder, or a file is damaged.
    """
    if not config.bounds:
        return None
    bounds = unseen(read_bounds(Path(config.bounds)), held_out)
    return BoundedExamples(bounds, config.encoding, config.where)


def run(trainer: Trainer, training: Examples, validation: Examples, bounded: BoundedExamples | None = None) -> None:
    """Trains to the end, with a measurement, a checkpoint and the curves now and then."""
    config, recent, started = trainer.config, [], time.perf_counter()
    every = max(1, config.report_every // config.batch)
    epoch = epoch_of(training.labels, config)
    order = batches(config.seed, len(epoch), config.batch, trainer.step)
    order_bounded = batches(config.seed, len(bounded) if bounded else 0, config.bounds_batch, trainer.step)
    with progress(config.steps, "step", done=trainer.step, delay=0) as bar:
        while trainer.step < config.steps:
            rows, mirrored = next(order)
            more = bounded.batch(*next(order_bounded)) if bounded else None
            recent.append(trainer.learn(*training.batch(epoch[rows], mirrored), more))
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


def published_architecture(whole: Architecture) -> Architecture:
    """With only the heads that agents use."""
    return replace(whole, heads=tuple(head for head in whole.heads if head[0] in PUBLISHED[whole.judges]))


def published(network: Network) -> Network:
    """The network with only the heads that agents use, on the processor."""
    small = Network(published_architecture(network.architecture))
    small.load_state_dict({name: network.state_dict()[name] for name in small.state_dict()})
    return small


def blended(network: Network, config: Config) -> Network:
    """A published network with some of the weights that its run began with (Wortsman et al. 2022, WiSE-FT).

    Raises:
        ValueError, OSError: as ``begin_with``.
    """
    if config.start_share:
        known = fresh_network(network.architecture, config.seed)
        begin_with(known, Path(config.start))
        with torch.no_grad():
            torch._foreach_lerp_(list(network.parameters()), list(known.parameters()), config.start_share)
    return network


def file_of(network: Network, examples: Examples, config: Config) -> bytes:
    """The file of the network, rounded by what it sees of some examples and of the mirror images of others."""
    rows = np.random.default_rng(config.seed).permutation(len(examples))[:ROUNDED_BY]
    planes = np.concatenate([examples.batch(rows[view::2], bool(view))[0].cpu().numpy() for view in (0, 1)])
    return quantization.to_limit(network.architecture, network.arrays(), planes, config.file_bytes)


def judged_right(network: PlainNetwork, labels: Labels) -> dict[str, float]:
    """``shares_right`` of what agents play, who look at mirror images, too, and the share of right values."""
    outputs = network.judge_many(labels.positions, labels.masks)
    columns = np.where(labels.legal, outputs["policy"], -np.inf).argmax(1)
    right = outputs["value"].argmax(1) == classes(labels.values)
    return {**shares_right(columns, labels), "value": float(right.mean())}


def train(config: Config) -> dict[str, Any]:
    """Trains, or resumes training, then writes the network and its accuracy on test positions, as agents use it."""
    begin(config)
    for folder, _ in parse_pairs(config.often, "often"):
        if not (config.labels / folder).is_dir():
            raise ValueError(f"often should name folders of {config.labels}, not {folder!r}")
    torch.set_num_threads(config.threads)
    torch.set_flush_denormal(True)  # many gradients are next to nothing, and the processor slow with such numbers
    asked = asked_in(Path(config.leave_out)) if config.leave_out else concatenated([])
    labels = without(read_labels(config.labels), asked)
    trainer = Trainer(config)
    trainer.load(config.run / CHECKPOINT)
    training, validation = (examples_of(labels, split, config) for split in (TRAINING, VALIDATION))
    held_out = concatenated([asked, *(labels_of(labels, split) for split in (VALIDATION, TEST))])
    bounded = bounded_examples(held_out, config)
    print(f"left out of training: {config.leave_out or 'nothing'}; bounds: {config.bounds or 'none'}", flush=True)
    run(trainer, training, validation, bounded)
    whole = blended(published(trainer.average), config)
    content, test = file_of(whole, training, config), labels_of(labels, TEST)
    network = PlainNetwork.from_bytes(content)
    facts: dict[str, Any] = {"parameters": network.architecture.size}
    facts |= {"training_positions": len(training), "test_positions": len(test)}
    facts |= {name: round(share, 4) for name, share in judged_right(network, test).items()}
    publish(config, content, facts)
    print(json.dumps(facts))
    return facts
