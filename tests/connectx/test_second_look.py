"""The second look: where a network doubts, what it says of replies counts; elsewhere nothing changes."""

from itertools import islice, product

import numpy as np
import pytest

from agents import policy
from benchmarks.positions import careful_choice, random_samples
from connectx.geometry import STANDARD
from connectx.nets.afterstates import chances_of_moves, doubt_of, policy_of
from connectx.nets.network import (
    POSITION,
    REPLIES,
    Architecture,
    PlainNetwork,
    judged,
    judged_replies,
    masked_argmax,
    softmax,
)
from connectx.nets.second_look import DOUBT, SHARE, chances_of_largest, doubted, geometric_mean, second_look
from connectx.position import Position
from connectx.solver import Solver
from connectx_toolkit.places import ROOT
from connectx_toolkit.training.data.shards import VALIDATION, Labels, concatenated, labels_of, read_labels

LABELS = ROOT / "data" / "labels"
FOLDERS = ("walks10", "walks15")  # of the second, a network doubted the result of its move
HEADS = {REPLIES: (("move", 1), ("score", 43)), POSITION: (("policy", 7), ("value", 3))}


@pytest.fixture(scope="module")
def labels() -> Labels:
    parts = [labels_of(read_labels(LABELS / folder), VALIDATION) for folder in FOLDERS]
    return concatenated([part.take(np.arange(800)) for part in parts])


def test_chances_of_the_largest():
    """Of three independent scores, by all that may come; what is sure to be least changes nothing."""
    rng = np.random.default_rng(1)
    moves = rng.random((4, 3, 5))
    moves /= moves.sum(2, keepdims=True)
    expected = np.zeros((4, 5))
    for scores in product(range(5), repeat=3):
        expected[:, max(scores)] += np.prod([moves[:, move, score] for move, score in enumerate(scores)], axis=0)
    assert np.allclose(chances_of_largest(moves), expected)
    none = np.zeros((4, 1, 5))
    none[..., 0] = 1
    assert np.allclose(chances_of_largest(np.concatenate([moves, none], 1)), expected)


def test_the_mean_is_weighted():
    first, after = np.array([[0.5, 0.5, 0.0]]), np.array([[0.2, 0.8, 0.0]])
    mean = geometric_mean(first, after)
    assert mean.sum() == pytest.approx(1) and mean[0, 2] < 1e-6
    assert mean[0, 1] / mean[0, 0] == pytest.approx(4**SHARE, rel=1e-5)


def test_what_is_not_doubted_stays(labels):
    """Where the network is sure it says the same; where it doubts, the likeliest moves alone may change."""
    network = policy.network
    seen = []

    def forward(planes):
        seen.append(len(planes))
        return network.forward(planes)

    both = second_look(forward, network.architecture, labels.positions, labels.masks)
    assert len(seen) == 2 and seen[1] > 0
    first = network.judge_many(labels.positions, labels.masks)["policy"]
    states, outputs = network.judge_replies(labels.positions, labels.masks)
    moves = chances_of_moves(softmax(outputs["score"]), states)
    sure = doubt_of(first, moves) <= DOUBT
    assert 0.05 < sure.mean() < 0.95
    assert np.array_equal(both[sure], first[sure]) and (both[~sure] != first[~sure]).any(1).mean() > 0.9
    seen.clear()
    one = second_look(forward, network.architecture, labels.positions[sure][:1], labels.masks[sure][:1])
    assert len(seen) == 1 and np.allclose(one, first[sure][:1], atol=1e-3)


def test_it_errs_less(labels):
    """The network that ships gives up the result in fewer positions that a network doubted."""
    network, rows = policy.network, np.arange(len(labels))
    lost = {}
    for name, logits in (
        ("first", network.judge_many(labels.positions, labels.masks)["policy"]),
        ("second", second_look(network.forward, network.architecture, labels.positions, labels.masks)),
    ):
        lost[name] = (~labels.kept[rows, np.where(labels.legal, logits, -np.inf).argmax(1)]).sum()
    assert 20 < lost["second"] < 0.9 * lost["first"]


def test_replies_tell_what_the_first_look_does_not():
    """A network that knows nothing after one move and everything after two plays a winning move that it looks at."""
    solver, looks = Solver(STANDARD, 16), []
    architecture = Architecture("stones-1", (("dense", 1),), HEADS[REPLIES], judges=REPLIES)
    cells = np.array([[1 << column * STANDARD.stride + row for column in range(7)] for row in range(6)])

    def forward(planes):
        looks.append(len(planes))
        score = np.zeros((len(planes), 43), np.float32)
        if len(looks) == 2:
            for row, (mine, theirs) in enumerate(planes.astype(np.int64)):
                position = Position(int((mine * cells).sum()), int(((mine + theirs) * cells).sum()), STANDARD)
                score[row, solver.solve(position).low + 21] = 50
        return {"move": np.zeros((len(planes), 1), np.float32), "score": score}

    compared = 0
    for sample in islice(random_samples(3, range(20, 27), choose=careful_choice), 150):
        position = sample.position
        if position.winning_columns():
            continue
        stones = np.array([position.position], np.int64), np.array([position.mask], np.int64)
        looks.clear()
        states, outputs = judged_replies(forward, architecture, *stones)
        moves = chances_of_moves(softmax(outputs["score"]), states)
        looked = states.columns[doubted(policy_of(outputs["move"][:, 0], moves, states), moves, states)]
        looks.clear()
        column = masked_argmax(second_look(forward, architecture, *stones)[0], position)
        results = {c: -np.sign(solver.solve(position.play(c)).low) for c in position.legal_columns()}
        assert (len(looks) == 2) == (len(looked) > 0)
        if len({results[c] for c in looked}) > 1:
            assert results[column] >= max(results[c] for c in looked) or column not in looked
            assert max(results[c] for c in looked) < 1 or results[column] == 1
            compared += 1
    assert compared > 10


def test_a_network_of_positions_looks_once(labels):
    architecture = Architecture("stones-1", (("dense", 4),), HEADS[POSITION])
    rng = np.random.default_rng(1)
    network = PlainNetwork(
        architecture, {n: rng.normal(size=s).astype(np.float32) for n, s in architecture.parameters().items()}
    )
    stones = labels.positions[:50], labels.masks[:50]
    expected = judged(network.forward, architecture, *stones)["policy"]
    assert np.array_equal(second_look(network.forward, architecture, *stones), expected)
