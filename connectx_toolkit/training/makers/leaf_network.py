"""Trains the small evaluator of the agent nnue on exact labels, in about a minute. An interrupted run starts again.

Examples are the labelled positions and those after each of their moves. Only quiet ones are used: the side to move
cannot win at once, and has a move after which the opponent cannot either. The target is the result for the first
player, with a draw as half a win; the loss is the cross-entropy. Half of the batches are mirrored. The optimizer is
Adam (Kingma and Ba 2015) with cosine decay of the learning rate.

A position has about ten active inputs of a thousand, as in an NNUE. So the forward and backward passes are loops over
these, compiled by numba, which is many times faster than matrix products.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx_core import leaf
from connectx_core.encoding import safe_cells
from connectx_core.evaluation import evaluate
from connectx_core.jit import jitable, njit, popcount
from connectx_core.leaf import ENCODING, GEOMETRY, MOST_ROWS, ROWS, LeafNet, active_rows, leaf_value
from connectx_core.position import mirror_bits, open_cells, winning_spots
from connectx_core.weights import pack
from connectx_toolkit.games.labelled import Labels, canonical_keys, moves_of
from connectx_toolkit.system.console import progress
from connectx_toolkit.training.makers.labels import LABELS, TEST, TRAINING, labels_of, read_labels, splits_of
from connectx_toolkit.training.options import Options, option
from connectx_toolkit.training.runs import begin_run, publish

WARM_UP_SHARE = 0.03  # share of the steps
DECAY_1, DECAY_2, TINY = 0.9, 0.999, 1e-8  # beta1, beta2 and epsilon of Adam
FIRST_BIAS = 0.3  # initial bias of the hidden units, inside the clipped ReLU's linear range
ENDGAME = 2  # empty cells: quiet positions with no more are draws, which a search knows without evaluating


@dataclass
class Config(Options):
    """Options of ``train.py leaf``."""

    METHOD = "leaf"

    labels: Path = option(LABELS, "file of labels that train.py labels has made", reads=True)
    hidden: int = option(32, "units of the hidden layer", least=1)
    samples: int = option(30_000_000, "positions to train on, counting repetitions", least=1)
    batch: int = option(1024, "positions per step", least=1)
    learning_rate: float = option(0.004, "largest learning rate", above=0)
    weight_decay: float = option(0.0001, "decoupled weight decay per step, times the learning rate", least=0)
    seed: int = option(1, "seed of the initial weights and of the order of the positions", least=0)
    run: Path = option(Path("runs/leaf"), "folder of the run")
    output: Path = option(Path(), "file to write: the network", in_run="nnue.bin")


class QuietPositions(NamedTuple):
    """Quiet positions with their results, seen by the first player."""

    first: np.ndarray  # (n,) int64, stones of the first player
    masks: np.ndarray  # (n,) int64, stones of both
    results: np.ndarray  # (n,) float32: 1 if the first player wins, 0 if the second does, 0.5 for a draw

    def take(self, rows: np.ndarray) -> "QuietPositions":
        return QuietPositions(*(array[rows] for array in self))


class Parameters(NamedTuple):
    """The trained parameters, float32."""

    inputs: np.ndarray  # (ROWS, hidden)
    outputs: np.ndarray  # (cells + 1, hidden)
    offsets: np.ndarray  # (cells + 1,)


def is_quiet(positions: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """(n,) bool: whether a search would evaluate the position as a leaf."""
    wins = winning_spots(positions, masks, GEOMETRY) & open_cells(masks, GEOMETRY)
    playing = np.bitwise_count(masks) < GEOMETRY.cells - ENDGAME
    return (wins == 0) & (safe_cells(positions, masks, GEOMETRY) != 0) & playing


def positions_after_moves(labels: Labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, masks and scores, for the side to move, after every labelled move that makes no line."""
    moves = moves_of(labels.masks, GEOMETRY)
    wins = winning_spots(labels.positions, labels.masks, GEOMETRY)[:, None]
    rows, columns = np.nonzero(((moves & ~wins) != 0) & labels.exact)
    masks = labels.masks[rows] | moves[rows, columns]
    return (labels.positions ^ labels.masks)[rows], masks, -labels.scores[rows, columns]


def examples_of(positions: np.ndarray, masks: np.ndarray, scores: np.ndarray) -> QuietPositions:
    """The quiet ones among these positions; of a position and its mirror image, only one."""
    chosen = np.flatnonzero(is_quiet(positions, masks))
    keys = canonical_keys(positions[chosen], masks[chosen])
    chosen = chosen[np.unique(keys, return_index=True)[1]]
    positions, masks, signs = positions[chosen], masks[chosen], np.sign(scores[chosen])
    is_first = np.bitwise_count(masks) % 2 == 0
    results = (1 + np.where(is_first, signs, -signs)) / 2
    return QuietPositions(np.where(is_first, positions, positions ^ masks), masks, results.astype(np.float32))


def training_examples(labels: Labels) -> QuietPositions:
    """Examples from the training labels and their moves, without any position that is held out."""
    chosen = labels_of(labels, TRAINING)
    positions, masks, scores = positions_after_moves(chosen)
    own = splits_of(positions, masks) == TRAINING
    parts = zip((chosen.positions, chosen.masks, chosen.values), (positions[own], masks[own], scores[own]), strict=True)
    return examples_of(*(np.concatenate(part) for part in parts))


def held_out_examples(labels: Labels) -> QuietPositions:
    chosen = labels_of(labels, TEST)
    return examples_of(chosen.positions, chosen.masks, chosen.values)


@jitable
def forward(first, mask, parameters, rows, sums, geometry):
    """(logit of the first player's expected result, number of active rows); writes the hidden sums to ``sums``."""
    count, stones = active_rows(first, mask, rows, geometry), popcount(mask)
    rows[count] = len(parameters.inputs) - 1
    sums[:] = 0
    for index in range(count + 1):
        row = rows[index]
        for unit in range(len(sums)):
            sums[unit] += parameters.inputs[row, unit]
    logit = parameters.offsets[stones]
    for unit in range(len(sums)):
        logit += min(max(sums[unit], np.float32(0)), np.float32(1)) * parameters.outputs[stones, unit]
    return logit, count + 1


@njit
def add_gradients(first, masks, results, mirrored, parameters, gradients, geometry):
    """Adds the gradients of the mean loss of a batch to ``gradients``; returns the loss."""
    rows, loss = np.empty(MOST_ROWS, np.int64), 0.0
    sums = np.empty(parameters.inputs.shape[1], np.float32)
    for example in range(len(first)):
        mine, mask, result = first[example], masks[example], results[example]
        if mirrored:
            mine, mask = mirror_bits(mine, geometry), mirror_bits(mask, geometry)
        logit, count = forward(mine, mask, parameters, rows, sums, geometry)
        loss += np.log(1 + np.exp(-logit)) + (1 - result) * logit
        error = np.float32((1 / (1 + np.exp(-logit)) - result) / len(first))
        stones = popcount(mask)
        gradients.offsets[stones] += error
        for unit in range(len(sums)):
            gradients.outputs[stones, unit] += error * min(max(sums[unit], np.float32(0)), np.float32(1))
            inside = 0 < sums[unit] < 1
            sums[unit] = error * parameters.outputs[stones, unit] if inside else np.float32(0)
        for index in range(count):
            row = rows[index]
            for unit in range(len(sums)):
                gradients.inputs[row, unit] += sums[unit]
    return loss / len(first)


@njit
def update(weights, gradients, means, squares, rate, decay, step):
    """One step of Adam with decoupled weight decay on flat float32 arrays; resets the gradients to 0."""
    one, scale = np.float32(1), np.float32(rate / (1 - DECAY_1**step))
    correction, shrink = np.float32(1 / (1 - DECAY_2**step)), np.float32(1 - rate * decay)
    first, second, tiny = np.float32(DECAY_1), np.float32(DECAY_2), np.float32(TINY)
    for i in range(len(weights)):
        means[i] = first * means[i] + (one - first) * gradients[i]
        squares[i] = second * squares[i] + (one - second) * gradients[i] * gradients[i]
        weights[i] = shrink * weights[i] - scale * means[i] / (np.sqrt(squares[i] * correction) + tiny)
        gradients[i] = 0


def first_parameters(hidden: int, rng: np.random.Generator) -> Parameters:
    inputs = rng.normal(0, 0.1, (ROWS, hidden)).astype(np.float32)
    inputs[-1] = FIRST_BIAS
    outputs = np.repeat(rng.normal(0, hidden**-0.5, (1, hidden)), GEOMETRY.cells + 1, 0).astype(np.float32)
    return Parameters(inputs, outputs, np.zeros(GEOMETRY.cells + 1, np.float32))


def fit_parameters(config: Config, examples: QuietPositions) -> Parameters:
    """The parameters after training."""
    rng = np.random.default_rng(config.seed)
    parameters = first_parameters(config.hidden, rng)
    gradients, means, squares = (Parameters(*(np.zeros_like(part) for part in parameters)) for _ in range(3))
    count, steps = len(examples.masks), max(1, config.samples // config.batch)
    size = min(config.batch, count)
    with progress(steps, "step") as bar:
        for step in range(1, steps + 1):
            turn = (step - 1) % (count // size)
            if turn == 0:
                order = rng.permutation(count)
            batch = examples.take(order[turn * size : (turn + 1) * size])
            add_gradients(*batch, rng.random() < 0.5, parameters, gradients, GEOMETRY)
            done = step / steps
            rate = config.learning_rate * min(1.0, done / WARM_UP_SHARE) * (1 + math.cos(math.pi * done)) / 2
            for arrays in zip(parameters, gradients, means, squares, strict=True):
                update(*(array.reshape(-1) for array in arrays), rate, config.weight_decay, step)
            bar.update()
    return parameters


def round_parameters(parameters: Parameters) -> LeafNet:
    """The network with integer weights. Inputs are clipped so that no sum can overflow."""
    inputs = np.clip(np.rint(parameters.inputs * leaf.ONE), -leaf.LARGEST_INPUT, leaf.LARGEST_INPUT)
    fine = 1 << leaf.UNIT_BITS + leaf.OUTPUT_BITS
    outputs, offsets = np.rint(parameters.outputs * fine), np.rint(parameters.offsets * fine * leaf.ONE)
    return leaf.leaf_net(inputs.astype(np.int16), outputs.astype(np.int16), offsets.astype(np.int64))


def net_to_bytes(net: LeafNet) -> bytes:
    """The network's file; ``connectx_core.leaf.leaf_net_from_bytes`` reads it."""
    return pack({"inputs": net.inputs, "outputs": net.outputs, "offsets": net.offsets}, ENCODING)


@njit
def values_of(first, masks, net, geometry):
    """The values that a search gets for n positions, seen by the first player: (n,) int64.

    Args:
        net: a LeafNet, or None for the heuristic.
    """
    values = np.empty(len(first), np.int64)
    for i in range(len(first)):
        is_first = popcount(masks[i]) % 2 == 0
        position = first[i] if is_first else first[i] ^ masks[i]
        value = evaluate(position, masks[i], geometry) if net is None else leaf_value(position, masks[i], net, geometry)
        values[i] = value if is_first else -value
    return values


def measure_values(net: LeafNet | None, examples: QuietPositions) -> dict[str, float]:
    """How well values separate won from lost positions: share of right signs, and area under the ROC curve (AUC)."""
    decided = examples.take(np.flatnonzero(examples.results != 0.5))
    values, won = values_of(decided.first, decided.masks, net, GEOMETRY), decided.results == 1
    right = (np.sign(values) == np.where(won, 1, -1)) + 0.5 * (values == 0)
    _, ranks, counts = np.unique(values, return_inverse=True, return_counts=True)
    places = (np.cumsum(counts) - (counts - 1) / 2)[ranks][won].sum()
    wins, losses = int(won.sum()), int((~won).sum())
    area = (places - wins * (wins + 1) / 2) / max(1, wins * losses)
    return {"sign": round(float(right.mean()), 4), "auc": round(float(area), 4)}


def train(config: Config) -> dict[str, Any]:
    """Trains the network, then writes it with its accuracy on the test positions and that of the heuristic."""
    labels = read_labels(config.labels)
    begin_run(config)
    training, test = training_examples(labels), held_out_examples(labels)
    if not (len(training.masks) and len(test.masks)):
        raise ValueError("too few labels: a split is empty")
    net = round_parameters(fit_parameters(config, training))
    facts: dict[str, Any] = {"training_positions": len(training.masks), "test_positions": len(test.masks)}
    facts |= measure_values(net, test) | {
        f"{key}_of_heuristic": value for key, value in measure_values(None, test).items()
    }
    score = f"won told from lost in {facts['sign']:.1%} of test positions, by the heuristic in"
    publish(config, net_to_bytes(net), facts, f"{score} {facts['sign_of_heuristic']:.1%}")
    return facts
