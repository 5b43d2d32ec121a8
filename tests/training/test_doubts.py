"""What a network doubts: chances against a count by hand, and that its mistakes are among its doubts."""

from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest

from connectx.afterstates import UNKNOWN
from connectx.geometry import STANDARD
from connectx.nets import Architecture, PlainNetwork, softmax
from connectx.solver import Solver
from connectx.torch_nets import Network
from tests.training.in_place import pool_in_place
from training.data.doubts import DOUBTFUL, doubts
from training.data.sampling import random_games
from training.data.shards import read_labels, read_shard
from training.methods import labels
from training.methods.labels import Config
from training.support import pool

FILE = Path("agents/weights/net.bin")
NETWORK = PlainNetwork.from_bytes(FILE.read_bytes())


def chances_by_hand(position: int, mask: int) -> list[dict[int, float]]:
    """Of each move, the chance of each score for the side to move; {} where there is none."""
    states, outputs = NETWORK.judge_replies(np.array([position]), np.array([mask]))
    found: list[dict[int, float]] = [{} for _ in range(STANDARD.columns)]
    for column, known in enumerate(states.scores[0].tolist()):
        if known != UNKNOWN:
            found[column] = {known: 1.0}
    for column, is_own, row in zip(states.columns, states.is_own, softmax(outputs["score"]), strict=True):
        found[column] = {(score if is_own else -score): float(p) for score, p in enumerate(row, -(len(row) // 2))}
    return found


def test_chances():
    positions, masks = random_games(np.tile([9, 14, 22, 30], 8), np.random.default_rng(1), Solver(STANDARD, 16))
    played = masks >= 0
    positions, masks = positions[played], masks[played]
    found = doubts(NETWORK, positions, masks)
    chosen = NETWORK.judge_many(positions, masks)["policy"].argmax(1)
    for position, mask, column, doubt in zip(positions.tolist(), masks.tolist(), chosen, found, strict=True):
        moves = chances_by_hand(position, mask)
        expected = 0.0
        for kind in (int, np.sign):
            others = [scores for other, scores in enumerate(moves) if scores and other != column]
            none_better = sum(
                p * prod(sum(q for theirs, q in scores.items() if kind(theirs) <= kind(score)) for scores in others)
                for score, p in moves[column].items()
            )
            expected += 1 - none_better
        assert abs(doubt - expected) < 1e-4


def test_mistakes_are_among_the_doubts():
    """Less than a half of the walks' positions are doubtful, and most of the moves that are not perfect in these."""
    shards = read_labels(Path("data/labels/walks8"))
    some = shards.take(np.arange(0, len(shards), 60))
    logits = np.where(some.legal, NETWORK.judge_many(some.positions, some.masks)["policy"], -np.inf)
    imperfect = ~some.perfect[np.arange(len(some)), logits.argmax(1)]
    doubtful = doubts(NETWORK, some.positions, some.masks) >= DOUBTFUL
    assert doubtful.mean() < 0.45 and imperfect[doubtful].sum() > 0.6 * imperfect.sum() > 30


def test_walks_with_doubts(tmp_path, monkeypatch):
    """Only doubtful positions, all of those of the same walks; another network's shards are not gone on with."""
    monkeypatch.setitem(labels.MIXES, labels.WALKS, {14: 1})
    monkeypatch.setattr(pool, "worker_pool", pool_in_place)
    config = Config(40, labels.WALKS, seed=4, shard=40, workers=1, table_bits=18, judge=str(FILE), output=tmp_path)
    labels.train(config)
    found, recipe = read_shard(tmp_path / "00000.shard")
    assert len(found) > 5 and (doubts(NETWORK, found.positions, found.masks) >= DOUBTFUL).all()
    everything = labels.walk_shard(4, 40 * labels.WALKS_A_DOUBT, labels.WALKS, None, 0)
    doubted = doubts(NETWORK, everything.positions, everything.masks) >= DOUBTFUL
    assert sorted(found.masks.tolist()) == sorted(everything.masks[doubted].tolist())
    other = tmp_path / "other.bin"
    other.write_bytes(Network(Architecture("stones-1", (("dense", 4),))).to_bytes())
    assert recipe == labels.recipe_of(config) != labels.recipe_of(replace(config, judge=str(other)))
    with pytest.raises(ValueError, match="holds shards made by"):
        labels.missing_shards(replace(config, judge=str(other)))
    with pytest.raises(ValueError, match="should be a network of 7x6 that judges replies"):
        labels.judge_of(replace(config, judge=str(other)))
