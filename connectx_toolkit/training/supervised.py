"""Supervised training of one head of a network: Adam, mirrored data, accuracy on new and known boards.

Also here: networks on batches of games, and the architecture shared by imitation, policy gradient and value.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from connectx_core.encoding import encode_many
from connectx_core.network import LAYER_KINDS, Architecture
from connectx_core.position import STANDARD, Geometry
from connectx_core.torch_form import Network
from connectx_toolkit.games.labelled import canonical_keys
from connectx_toolkit.system.console import progress, tell_rate
from connectx_toolkit.training.descent import Descent
from connectx_toolkit.training.options import Options, option
from connectx_toolkit.training.runs import save_curve
from connectx_toolkit.training.vector_games import BLOCK, Logits, bitboards

FACTS = "facts-1"


def layers_of(text: str) -> tuple[tuple[str, int], ...]:
    """The layers of an option ``--layers``, "conv:32,dense:64". Raises ValueError if it has another form."""
    try:
        pairs = [part.split(":") for part in text.split(",") if part]
        layers = tuple((kind, int(size)) for kind, size in pairs)
        if any(size < 1 for _, size in layers):
            raise ValueError
    except ValueError:
        raise ValueError(f"layers should look like conv:32,dense:64, not {text!r}") from None
    if unknown := [kind for kind, _ in layers if kind not in LAYER_KINDS]:
        raise ValueError(f"layers should be of the kinds {', '.join(LAYER_KINDS)}, not {unknown[0]!r}")
    return layers


def small_network(head: str, size: int, channels: int, hidden: int, seed: int, encoding: str = FACTS) -> Network:
    """A fresh network with one head: a convolution and two dense layers, the last with 64 units."""
    layers = (("conv", channels), ("dense", hidden), ("dense", 64))
    torch.manual_seed(seed)
    return Network(Architecture(encoding, layers, ((head, size),)))


def planes_of_boards(boards: np.ndarray, geometry: Geometry = STANDARD, encoding: str = FACTS) -> Tensor:
    """(n, planes, rows, columns) float32 for boards (n, rows, columns) int8 seen by the side to move."""
    return torch.from_numpy(encode_many(*bitboards(boards, geometry), geometry, encoding)).float()


def device_of(network: Network) -> torch.device:
    """Where a network's parameters lie."""
    return next(network.parameters()).device


def outputs_of_boards(network: Network, boards: np.ndarray) -> dict[str, Tensor]:
    """The outputs of each head, (n, size), for boards (n, rows, columns) int8 seen by the side to move.

    Equal boards, frequent at the beginning of games, are computed only once.
    """
    flat = np.ascontiguousarray(boards).reshape(len(boards), -1)
    rows = flat.view(np.dtype((np.void, flat.shape[1])))[:, 0]
    _, first, index = np.unique(rows, return_index=True, return_inverse=True)
    kind, device = network.architecture, device_of(network)
    outputs = network(planes_of_boards(boards[first], kind.geometry, kind.encoding).to(device))
    places = torch.from_numpy(index).to(device)
    return {name: output[places] for name, output in outputs.items()}


def logits_of(network: Network, head: str = "policy") -> Logits:
    """The outputs of one head as a function of boards, without gradients."""

    def logits(boards: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return outputs_of_boards(network, boards)[head].cpu().numpy()

    return logits


# One game in so many is not used for training. The seats swap every BLOCK games: so it is the other seat's after ten.
HELD_OUT_GAMES = 2 * BLOCK + 1
MEASURED_EVERY = 500  # updates
BOARDS_AT_ONCE = 100_000  # boards encoded at once


class Examples(NamedTuple):
    """Boards and their labels."""

    boards: np.ndarray  # (n, rows, columns) int8, seen by the side to move
    answers: np.ndarray  # (n,) int64, indices of the head's outputs

    def take(self, which: np.ndarray) -> "Examples":
        return Examples(self.boards[which], self.answers[which])


class Parts(NamedTuple):
    """Examples to learn from, and those of other games, on which the network is measured."""

    training: Examples
    new: Examples  # of boards that are not among those to learn from; nor are their mirror images
    known: Examples  # the others: mostly of the first plies, which many games share


class Agreement(NamedTuple):
    """The shares of examples for which the most likely answer is right."""

    new: float
    known: float

    def __str__(self) -> str:
        return f"{self.new:.1%} of new boards, {self.known:.1%} of boards that it learnt"

    def facts(self) -> dict[str, float]:
        """For the manifest."""
        return {f"{name}_boards": round(share, 3) for name, share in self._asdict().items()}


def packed_planes(network: Network, boards: np.ndarray) -> Tensor:
    """The planes of boards on the network's device: (n, planes, rows, columns) uint8, a quarter of their float32."""
    kind, device = network.architecture, device_of(network)
    parts = np.array_split(boards, 1 + len(boards) // BOARDS_AT_ONCE)
    return torch.cat([planes_of_boards(part, kind.geometry, kind.encoding).to(device, torch.uint8) for part in parts])


@dataclass
class FitOptions(Options):
    """The options that all supervised methods have, besides ``run`` and ``output``."""

    steps: int = option(3000, "updates of the network", least=1)
    batch: int = option(256, "positions per update", least=1)
    learning_rate: float = option(1e-3, "largest learning rate of Adam", above=0)
    channels: int = option(16, "channels of the convolution", least=1)
    hidden: int = option(128, "width of the first dense layer", least=1)
    seed: int = option(1, "random seed of games, weights and batches", least=0)


class Fit(Descent):
    """The training of one head.

    Args:
        config: of the method: ``FitOptions`` with ``run``.
        parts: of the examples, as ``split`` makes them.
        mirrored: gives the answers, (n,), of the mirrored boards from those of the boards.
    """

    def __init__(
        self,
        config: Any,
        network: Network,
        parts: Parts,
        mirrored: Callable[[np.ndarray], np.ndarray],
    ):
        super().__init__(network, [torch.optim.Adam(network.parameters(), config.learning_rate)], config.steps)
        self.config, self.training, self.measured = config, parts.training, parts[1:]
        self._head, self._mirrored, self._device = network.architecture.heads[0][0], mirrored, device_of(network)
        self._planes, *self._measured_planes = (packed_planes(network, part.boards) for part in parts)
        self._rng = np.random.default_rng(config.seed)
        self.seconds = 0.0  # of processor time; there is only one thread
        self.accuracies: list[tuple[int, float, float]] = []  # (updates, accuracy on new and on known boards)

    def update(self) -> float:
        """One update on random examples, half of them mirrored. Returns the loss before the update."""
        started = time.process_time()
        rows = self._rng.integers(len(self.training.boards), size=self.config.batch)
        answers, mirror = self.training.answers[rows], self._rng.random(len(rows)) < 0.5
        wanted = self._there(np.where(mirror, self._mirrored(answers), answers))
        planes, turned = self._planes[self._there(rows)].float(), self._there(mirror)[:, None, None, None]
        outputs = self._outputs(self.network, torch.where(turned, planes.flip(3), planes))
        loss = self.descend(functional.cross_entropy(outputs, wanted))
        self.seconds += time.process_time() - started
        return float(loss)

    def _there(self, array: np.ndarray) -> Tensor:
        """An array on the network's device."""
        return torch.from_numpy(array).to(self._device)

    def _outputs(self, network: Network, planes: Tensor) -> Tensor:
        """The head's outputs, float32; on CUDA, matrix products take bfloat16."""
        with torch.autocast("cuda", torch.bfloat16, enabled=self._device.type == "cuda"):
            return network(planes)[self._head].float()

    def accuracy(self) -> Agreement:
        """On new and on known boards, now."""
        shares = []
        for examples, planes in zip(self.measured, self._measured_planes, strict=True):
            with torch.inference_mode():
                answers = self._outputs(self.average, planes.float()).argmax(1)
            shares.append(float((answers.cpu().numpy() == examples.answers).mean()))
        return Agreement(*shares)

    def run(self, label: str) -> Agreement:
        """Makes all updates, plots the accuracy in ``curve.png`` and returns that of the end.

        Args:
            label: the name of the curve's axis.
        """
        config, started = self.config, time.perf_counter()
        with progress(config.steps, "update") as bar:
            while self.step < config.steps:
                self.update()
                bar.update()
                if self.step % MEASURED_EVERY == 0 or self.step == config.steps:
                    self.accuracies.append((self.step, *self.accuracy()))
        tell_rate(config.steps * config.batch, "positions", started, self._device.type)
        steps, new, known = np.array(self.accuracies).T
        curves = {"new boards": (steps, new), "boards that it learnt": (steps, known)}
        save_curve(config.run / "curve.png", "updates", label, curves)
        return Agreement(new[-1], known[-1])


def split_games(games: int, examples_of: Callable[[np.ndarray], Examples]) -> Parts:
    """Holds out one game in HELD_OUT_GAMES, and tells its new boards, of 7x6, from those that other games have as well.

    To hold out boards alone would not do: the result of a game is told by the positions around them.

    Args:
        examples_of: gives the examples of the games with these numbers, (n,).

    Raises:
        ValueError: there are too few games.
    """
    numbers = np.arange(games)
    training, held_out = (examples_of(numbers[(numbers % HELD_OUT_GAMES == 0) == out]) for out in (False, True))
    keys, learnt = (canonical_keys(*bitboards(part.boards, STANDARD)) for part in (held_out, training))
    known = np.isin(keys, learnt)
    if known.all() or not known.any():
        raise ValueError(
            f"{games} games are too few: of those held out, no board is {'new' if known.all() else 'known'}"
        )
    return Parts(training, held_out.take(~known), held_out.take(known))
