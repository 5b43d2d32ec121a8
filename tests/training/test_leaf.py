"""The leaf net: what it computes, the files it refuses, the search with it, and its trainer."""

import json
import random

import numpy as np
import pytest

from connectx_core import leaf
from connectx_core.clock import Budget
from connectx_core.evaluation import LIMIT, evaluate
from connectx_core.leaf import ENCODING, MOST_ROWS, ROWS, LeafNet, leaf_net_from_bytes, leaf_value
from connectx_core.position import STANDARD, Position, geometry_of
from connectx_core.search import Searcher
from connectx_core.weights import pack, unpack
from connectx_toolkit.cli import train
from connectx_toolkit.games.labelled import canonical_keys, write_labels
from connectx_toolkit.system.files import AGENTS
from connectx_toolkit.training.makers import leaf_network
from connectx_toolkit.training.makers.labels import opening_labels, read_labels
from connectx_toolkit.training.makers.leaf_network import (
    Config,
    Parameters,
    first_parameters,
    measure_values,
    round_parameters,
    values_of,
)
from connectx_toolkit.training.runs import MANIFEST
from tests.conftest import random_game

pytestmark = pytest.mark.slow
WEIGHTS = AGENTS / "weights" / "nnue.bin"


@pytest.fixture(scope="module")
def net() -> LeafNet:
    return leaf_net_from_bytes(WEIGHTS.read_bytes())


def positions(games: int, seed: int) -> list[Position]:
    rng = random.Random(seed)
    return [position for _ in range(games) for position in random_game(STANDARD, rng)]


def slow_value(position: Position, net: LeafNet) -> float:
    """The network by its definition, from the cells as Kaggle lists them, in floating point."""
    board = np.array(position.to_board()).reshape(6, 7)[::-1]
    rows = [ROWS - 1]
    for column in range(7):  # a column's field: its stones of player 1, plus a bit for each stone
        rows.append(
            column * 128 + sum((1 + (stone == 1)) << row for row, stone in enumerate(board[:, column]) if stone)
        )
    for player in (1, 2):
        for row, column in zip(*np.nonzero(board == 0), strict=True):
            board[row, column] = player
            lines = (
                [(row + i * down, column + i * right) for i in range(k, k + 4)]
                for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
                for k in range(-3, 1)
            )
            if any(all(0 <= r < 6 and 0 <= c < 7 and board[r, c] == player for r, c in line) for line in lines):
                rows.append(7 * 128 + (player - 1) * 49 + column * 7 + row)
            board[row, column] = 0
    hidden = np.clip(net.inputs[rows].sum(0) / 2**leaf.ONE_BITS, 0, 1)
    scale = 2.0 ** (leaf.UNIT_BITS + leaf.OUTPUT_BITS)
    logit = hidden @ net.outputs[position.ply] / scale + net.offsets[position.ply] / scale / 2**leaf.ONE_BITS
    return (logit if position.ply % 2 == 0 else -logit) * 2**leaf.UNIT_BITS


def test_value_is_the_networks(net):
    """Compiled, plain, and by definition: the same up to rounding down."""
    for position in positions(5, 1):
        first = position.position if position.ply % 2 == 0 else position.position ^ position.mask
        in_plain = leaf_value(position.position, position.mask, net, STANDARD)
        stones = np.array([first], np.int64), np.array([position.mask], np.int64)
        compiled = values_of(*stones, net, STANDARD)[0] * (1 if position.ply % 2 == 0 else -1)
        assert compiled == in_plain and abs(in_plain - slow_value(position, net)) <= 1 and abs(in_plain) <= LIMIT


def test_file_is_read_and_refused(net):
    content = WEIGHTS.read_bytes()
    arrays, _ = unpack(content)
    assert leaf_network.net_to_bytes(net) == content
    assert abs(net.inputs).max() * MOST_ROWS < 2**15
    flipped = bytearray(content)
    flipped[-100] ^= 1
    large = arrays | {"inputs": np.full_like(arrays["inputs"], leaf.LARGEST_INPUT + 1)}
    narrow = arrays | {"outputs": arrays["outputs"][:, :-1]}
    for damaged, words in (
        (bytes(flipped), "checksum"),
        (pack(arrays, "columns-2"), "columns-spots-1"),
        (pack({"inputs": arrays["inputs"]}, ENCODING), "expected"),
        (pack(large, ENCODING), "overflow"),
        (pack(narrow, ENCODING), "outputs"),
        (b"net", "not a weight container"),
    ):
        with pytest.raises(ValueError, match=words) as raised:
            leaf_net_from_bytes(damaged)
        assert "\n" not in str(raised.value)


def test_searches_with_it_on_its_board_only(net):
    """The kernel asks the net at the horizon; other boards, and plain Python, are as they were without."""
    with_net, in_plain = Searcher(STANDARD, buckets=64, net=net), Searcher(STANDARD, False, 64, net)
    quiet = [p for p in positions(4, 2) if leaf_network.is_quiet(np.array([p.position]), np.array([p.mask]))[0]]
    assert len(quiet) > 20
    for position in quiet:
        asked = with_net._value(position, -(1 << 20), 1 << 20, 0, Budget())
        assert asked == leaf_value(position.position, position.mask, net, STANDARD)
        unasked = in_plain._value(position, -(1 << 20), 1 << 20, 0, Budget())
        assert unasked == evaluate(position.position, position.mask, STANDARD)
    small = Position.empty(geometry_of(5, 5, 4))
    assert Searcher(small.geometry, net=net).search(small, Budget(nodes=500)) == Searcher(small.geometry).search(
        small, Budget(nodes=500)
    )


def test_resumed_with_it_changes_nothing(net, monkeypatch):
    position = Position.from_moves([3, 3, 2, 4], STANDARD)
    at_once, stepwise = Searcher(STANDARD, net=net), Searcher(STANDARD, net=net)
    monkeypatch.setattr(stepwise, "_adapt_slice", lambda seconds: None)
    assert at_once.search(position, Budget(), 6) == stepwise.search(position, Budget(), 6)


def test_examples_are_what_a_search_evaluates():
    """Quiet positions, and no others; the results of moves are those of the positions after them."""
    labels = opening_labels()
    labels = labels.take(np.arange(0, len(labels), 40))
    for position, mask in zip(labels.positions.tolist(), labels.masks.tolist(), strict=True):
        state = Position(position, mask, STANDARD)
        safe = [c for c in state.legal_columns() if not state.play(c).winning_columns()]
        expected = not state.winning_columns() and bool(safe)
        assert leaf_network.is_quiet(np.array([position]), np.array([mask]))[0] == expected
    stones, masks, scores = leaf_network.positions_after_moves(labels)
    for row in range(0, len(labels), 10):
        state = Position(int(labels.positions[row]), int(labels.masks[row]), STANDARD)
        for column in set(state.legal_columns()) - set(state.winning_columns()):
            child = state.play(column)
            found = scores[(stones == child.position) & (masks == child.mask)]
            assert len(found) and (found == -labels.scores[row, column]).all()
    examples = leaf_network.examples_of(labels.positions, labels.masks, labels.values)
    of_first = dict(zip(zip(examples.first.tolist(), examples.masks.tolist(), strict=True), examples[2], strict=True))
    for position, mask, score in zip(labels.positions.tolist(), labels.masks.tolist(), labels.values, strict=True):
        is_first = mask.bit_count() % 2 == 0
        result = of_first.get((position if is_first else position ^ mask, mask))
        assert result in (None, {1: 1.0, 0: 0.5, -1: 0.0}[int(np.sign(score)) * (1 if is_first else -1)])
    assert {1.0, 0.5, 0.0} == set(of_first.values())


def test_held_out_positions_are_not_trained_on():
    labels = opening_labels()
    training, test = leaf_network.training_examples(labels), leaf_network.held_out_examples(labels)
    keys = [set(canonical_keys(part.first, part.masks, STANDARD).tolist()) for part in (training, test)]
    assert len(keys[0]) == len(training.masks) and len(keys[1]) > 100 and not keys[0] & keys[1]


@pytest.mark.parametrize("mirrored", [False, True])
def test_gradients(mirrored):
    """Against differences of the loss, for the largest gradient of each part."""
    examples = leaf_network.held_out_examples(opening_labels())
    examples = examples.take(np.arange(0, len(examples.masks), len(examples.masks) // 50))
    parameters = first_parameters(4, np.random.default_rng(1))
    gradients = Parameters(*(np.zeros_like(part) for part in parameters))
    leaf_network.add_gradients(*examples, mirrored, parameters, gradients, STANDARD)
    unused, step = Parameters(*(np.zeros_like(part) for part in parameters)), 0.01
    for part, gradient in zip(parameters, gradients, strict=True):
        place = np.unravel_index(np.abs(gradient).argmax(), gradient.shape)
        losses = []
        for sign in (1, -1):
            part[place] += sign * step
            losses.append(leaf_network.add_gradients(*examples, mirrored, parameters, unused, STANDARD))
            part[place] -= sign * step
        assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(gradient[place], rel=0.02)


def test_it_overfits_and_its_integers_agree(tmp_path):
    """It learns a few examples by heart; rounded, it says the same."""
    examples = leaf_network.training_examples(opening_labels())
    few = examples.take(np.flatnonzero(examples.results != 0.5)[::40][:200])
    net = round_parameters(
        leaf_network.fit_parameters(Config(samples=100_000, batch=50, hidden=16, output=tmp_path / "x"), few)
    )
    assert measure_values(net, few)["sign"] > 0.98 > measure_values(None, few)["sign"]


def test_command(tmp_path):
    """From labels to a file that reads back, and its entry in the manifest; the same seed makes the same bytes."""
    write_labels(tmp_path / "one.labels", opening_labels().take(np.arange(1)), {})
    arguments = ["leaf", "--labels", str(tmp_path / "one.labels"), "--hidden", "8", "--samples", "50000"]
    for name in ("a", "b"):
        where = ["--run", str(tmp_path / name), "--output", str(tmp_path / f"{name}.bin")]
        assert train.main([*arguments, *where]) == 0
    net, facts = (
        leaf_net_from_bytes((tmp_path / "a.bin").read_bytes()),
        json.loads((tmp_path / MANIFEST).read_text())["a.bin"],
    )
    assert (tmp_path / "a.bin").read_bytes() == (tmp_path / "b.bin").read_bytes()
    paths = {"labels": tmp_path / "one.labels", "run": tmp_path / "a", "output": tmp_path / "a.bin"}
    labels_, run, output = (f"--{name} {path}" for name, path in paths.items())
    assert facts["command"] == f"python train.py leaf {labels_} --hidden 8 --samples 50000 {run} {output}"
    assert {key: facts[key] for key in ("sign", "auc")} == measure_values(
        net, leaf_network.held_out_examples(read_labels(tmp_path / "one.labels"))
    )


def test_better_than_the_heuristic(net):
    """The published net orders won and lost openings that it was not trained on better than the heuristic does."""
    test = leaf_network.held_out_examples(opening_labels())
    assert measure_values(net, test)["auc"] > measure_values(None, test)["auc"] + 0.05
