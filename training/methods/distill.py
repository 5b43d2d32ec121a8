"""Trains the policy and value network on exact labels: the strongest teacher. Checkpoints, resumable, on any device.

The network judges a position by what its moves lead to, or, with ``--judges position``, by itself; see
``training.data.examples``. Targets of a position with the exact score of every move:

- policy: the probability given to all moves that keep the result, and that given to all perfect ones (quickest win,
  slowest loss), each by its logarithm. No move among equals is preferred.
- value: win, draw or loss of what the network sees, three classes. distance: plies to the end of perfect play, as a
  share of the board's cells. It only helps to train and is not published.
- results: win, draw or loss of each move, where the network sees the position. It is not published, either.

Half of the batches are mirrored. The learning rate warms up and falls as a cosine (Loshchilov and Hutter 2017), the
optimizer is AdamW (2019), and what is measured and published is the exponential average of the weights.
It is published in whole numbers of 8 bits, which costs nothing: 98.42% kept and 93.35% perfect where float32 had 98.42
and 93.36, on validation positions.
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
from torch.nn import functional

from connectx.afterstates import NEVER
from connectx.geometry import STANDARD
from connectx.nets import MOVES, POSITION, Architecture, PlainNetwork
from connectx.torch_nets import Network
from connectx.weights import REDUCED
from console.files import write_whole
from console.progress import progress
from training.data.examples import CLASSES, Examples, Targets, classes
from training.data.shards import TEST, TRAINING, VALIDATION, Labels, canonical_keys, labels_of, read_labels, read_shard
from training.learning import torch_state
from training.support import checkpoint
from training.support.device import NAMES, device_named, mixed_precision
from training.support.manifest import check_output, publish
from training.support.options import Options, command_of, option
from training.support.plots import save_figure

HEADS = {
    POSITION: (("policy", 7), ("value", CLASSES), ("distance", 1), ("results", 7 * CLASSES)),
    MOVES: (("move", 1), ("value", CLASSES), ("distance", 1)),
}
PUBLISHED = ("policy", "move", "value")
WARM_UP = 0.03  # share of the steps
FEW_STONES = 12  # such positions are hard, and a tenth of those with a choice
AVERAGED = 1000  # steps over which the weights are averaged
SHARES = {"kept": 1.0, "perfect": 0.5, "value": 0.5, "distance": 0.5, "results": 0.5}  # weights of the losses
CHECKPOINT = "checkpoint.bin"


@dataclass
class Config(Options):
    """Options of ``train.py distill``."""

    labels: Path = option(Path("data/labels"), "folder that train.py labels has made")
    leave_out: Path = option(Path("runs/recipes"), "folder of shards whose positions of plies 8 on are for judging it")
    judges: str = option(
        MOVES, "what the network sees: the position, or what its moves lead to", among=(POSITION, MOVES)
    )
    encoding: str = option("fours-1", "of the positions, by name and version")
    layers: str = option("dense:672,dense:384,dense:64", "kind:width of each layer")
    samples: int = option(30_000_000, "positions to train on, counting repetitions", least=1)
    batch: int = option(512, "positions in a step", least=1)
    learning_rate: float = option(0.002, "its largest value", above=0)
    weight_decay: float = option(0.1, "of AdamW", least=0)
    early: int = option(3, f"times that positions of fewer than {FEW_STONES} stones are in an epoch", least=1)
    seed: int = option(1, "of the first weights and of the order of the positions")
    threads: int = option(1, "of torch", least=1)
    dtype: str = option("int8", "of the network's file", among=REDUCED)
    device: str = option("auto", "of torch, where all positions are kept", among=NAMES)
    report_every: int = option(4_000_000, "positions between two measurements on validation positions", least=1)
    run: Path = option(Path("runs/distill"), "folder of checkpoint, log and curves")
    output: Path = option(Path("agents/weights/net.bin"), "the network")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.architecture()

    def architecture(self) -> Architecture:
        return Architecture(self.encoding, parse_layers(self.layers), HEADS[self.judges], STANDARD[:3], self.judges)

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


def losses(outputs: dict[str, Tensor], targets: Targets) -> dict[str, Tensor]:
    """The mean loss of each part, by name."""
    policy = torch.log_softmax(targets.policy(outputs), 1)
    parts = {
        "kept": -torch.logsumexp(policy.masked_fill(~(targets.kept & targets.legal), NEVER), 1).mean(),
        "perfect": -torch.logsumexp(policy.masked_fill(~(targets.perfect & targets.legal), NEVER), 1).mean(),
        "value": functional.cross_entropy(outputs["value"], targets.value),
        "distance": functional.mse_loss(outputs["distance"][:, 0], targets.distance),
    }
    if "results" in outputs:
        results = outputs["results"].unflatten(1, (-1, CLASSES))[targets.legal]
        parts["results"] = functional.cross_entropy(results, targets.results[targets.legal])
    return parts


def total(parts: dict[str, Tensor]) -> Tensor:
    return torch.stack([SHARES[name] * part for name, part in parts.items()]).sum()


@torch.inference_mode()
def measure(network: torch.nn.Module, examples: Examples, size: int = 1000) -> dict[str, float]:
    """The loss, and the shares of right moves and values, without mirror images."""
    losing, columns, values = 0.0, [], []
    for start in range(0, len(examples), size):
        rows = np.arange(start, min(start + size, len(examples)))
        planes, targets = examples.batch(rows)
        outputs = outputs_of(network, planes, len(targets.value))
        losing += float(total(losses(outputs, targets))) * len(rows)
        columns.append(targets.policy(outputs).argmax(1).cpu().numpy())
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
        torch.manual_seed(config.seed)
        self.config, self.step = config, 0
        self.network, self.average = (Network(config.architecture()).to(config.where) for _ in range(2))
        self.average.load_state_dict(self.network.state_dict())
        self.optimizer = torch.optim.AdamW(self.network.parameters(), weight_decay=config.weight_decay, fused=True)
        self.log: list[dict[str, float]] = []

    def learning_rate(self) -> float:
        done = self.step / self.config.steps
        return self.config.learning_rate * min(1.0, (done + 1e-4) / WARM_UP) * (1 + math.cos(math.pi * done)) / 2

    def learn(self, planes: Tensor, targets: Targets) -> Tensor:
        """One step; its loss, a number that stays on the device."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate()
        loss = total(losses(outputs_of(self.network, planes, len(targets.value)), targets))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1
        weight = 1 / min(AVERAGED, self.step + 1)
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.parameters()), list(self.network.parameters()), weight)
        return loss.detach()

    @property
    def settings(self) -> dict[str, Any]:
        """What a run must share with the one that it goes on with: a run can be made longer or shorter."""
        return checkpoint.settings_of(self.config, may_change=("samples", "report_every", "threads", "device", "dtype"))

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


def epoch_of(labels: Labels, early: int) -> np.ndarray:
    """The rows of an epoch: each once, those with fewer than ``FEW_STONES`` stones ``early`` times."""
    return np.repeat(np.arange(len(labels)), np.where(labels.plies < FEW_STONES, early, 1))


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
    return Examples(labels_of(labels, split), config.architecture(), config.where)


def run(trainer: Trainer, training: Examples, validation: Examples) -> None:
    """Trains to the end, with a measurement, a checkpoint and the curves now and then."""
    config, recent, started = trainer.config, [], time.perf_counter()
    every = max(1, config.report_every // config.batch)
    epoch = epoch_of(training.labels, config.early)
    order = batches(config, len(epoch), trainer.step)
    with progress(config.steps, "step", done=trainer.step, delay=0) as bar:
        while trainer.step < config.steps:
            rows, mirrored = next(order)
            recent.append(trainer.learn(*training.batch(epoch[rows], mirrored)))
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


def without(labels: Labels, folder: Path) -> Labels:
    """The labels whose positions are in no shard of a folder, or of plies 0 to 7: of these every position is known."""
    keys = [np.empty(0, np.int64)]
    for path in sorted(folder.glob("*.shard")):
        asked = read_shard(path)[0]
        keys.append(canonical_keys(asked.positions, asked.masks, STANDARD))
    is_asked = np.isin(canonical_keys(labels.positions, labels.masks, STANDARD), np.concatenate(keys))
    return labels.take(np.flatnonzero(~is_asked | (labels.plies < 8)))


def published(network: Network) -> Network:
    """The network with only the heads that agents use."""
    whole = network.architecture
    heads = tuple(head for head in whole.heads if head[0] in PUBLISHED)
    small = Network(replace(whole, heads=heads))
    small.load_state_dict({name: network.state_dict()[name] for name in small.state_dict()})
    return small


def judged_right(network: PlainNetwork, labels: Labels) -> dict[str, float]:
    """``shares_right`` of what agents play, who look at mirror images, too, and the share of right values."""
    outputs = network.judge_many(labels.positions, labels.masks)
    columns = np.where(labels.legal, outputs["policy"], -np.inf).argmax(1)
    right = outputs["value"].argmax(1) == classes(labels.values)
    return {**shares_right(columns, labels), "value": float(right.mean())}


def train(config: Config) -> dict[str, Any]:
    """Trains, or resumes training, then writes the network and its accuracy on test positions, as agents use it."""
    check_output(config.output)
    torch.set_num_threads(config.threads)
    torch.set_flush_denormal(True)  # many gradients are next to nothing, and the processor slow with such numbers
    labels = without(read_labels(config.labels), config.leave_out)
    trainer = Trainer(config)
    trainer.load(config.run / CHECKPOINT)
    training, validation = (examples_of(labels, split, config) for split in (TRAINING, VALIDATION))
    run(trainer, training, validation)
    content, test = published(trainer.average.cpu()).to_bytes(config.dtype), labels_of(labels, TEST)
    network = PlainNetwork.from_bytes(content)
    facts: dict[str, Any] = {"parameters": network.architecture.size}
    facts |= {"training_positions": len(training), "test_positions": len(test)}
    facts |= {name: round(share, 4) for name, share in judged_right(network, test).items()}
    publish(config.output, content, command_of("distill", config, ("threads", "report_every", "device")), facts)
    print(json.dumps(facts))
    return facts
