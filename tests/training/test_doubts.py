"""What a network doubts: chances against a count by hand, and that its mistakes are among its doubts."""

from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest

from connectx.geometry import STANDARD
from connectx.nets.afterstates import UNKNOWN
from connectx.nets.network import Architecture, PlainNetwork, softmax
from connectx.nets.torch_form import Network
from connectx.solver import Solver
from connectx_toolkit.training.data.doubts import DOUBTFUL, RESULTS, SCORES, doubts
from connectx_toolkit.training.data.sampling import random_games
from connectx_toolkit.training.data.shards import read_labels, read_shard
from connectx_toolkit.training.methods import labels
from connectx_toolkit.training.methods.labels import Config
from connectx_toolkit.training.support import pool
from tests.training.in_place import pool_in_place

FILE = Path("agents/weights/net.bin")
NETWORK = PlainNetwork.from_bytes(FILE.read_bytes())


def chances_by_hand(position: int, mask: int) -> list[dict[int, float]]:
    """Of each move, the chance of each score for the side to move; {} where there is none."""
    states, outputs = NETWORK.judge_replies(np.array([position]), np.array([mask]))
    found: list[dict[int, float]] = [{} for _ in range(STANDARD.columns)]
    for column, known in enumerate(states.scores[0].tolist()):
        if known != UNKNOWN:
            found[column] = {known: 1.0}
    judged = zip(states.columns, states.is_own, states.proven, softmax(outputs["score"]), strict=True)
    for column, is_own, result, row in judged:
        chances = {(score if is_own else -score): float(p) for score, p in enumerate(row, -(len(row) // 2))}
        possible = {score: p for score, p in chances.items() if result in (0, np.sign(score))}
        found[column] = {score: p / sum(possible.values()) for score, p in possible.items()}
    return found


@pytest.mark.parametrize("kind", DOUBTFUL)
def test_chances(kind):
    positions, masks = random_games(np.tile([9, 14, 22, 30], 8), np.random.default_rng(1), Solver(STANDARD, 16))
    played = masks >= 0
    positions, masks = positions[played], masks[played]
    found = doubts(NETWORK, positions, masks, kind)
    chosen = NETWORK.judge_many(positions, masks)["policy"].argmax(1)
    for position, mask, column, doubt in zip(positions.tolist(), masks.tolist(), chosen, found, strict=True):
        moves = chances_by_hand(position, mask)
        expected = 0.0
        for sign in (np.sign,) if kind == RESULTS else (int, np.sign):
            others = [scores for other, scores in enumerate(moves) if scores and other != column]
            none_better = sum(
                p * prod(sum(q for theirs, q in scores.items() if sign(theirs) <= sign(score)) for scores in others)
                for score, p in moves[column].items()
            )
            expected += 1 - none_better
        assert abs(doubt - expected) < 1e-4


def test_mistakes_are_among_the_doubts():
    """Few positions of walks are doubtful, and most of the mistakes of each kind are made there."""
    shards = read_labels(Path("data/labels/walks8"))
    some = shards.take(np.arange(0, len(shards), 20))
    logits = np.where(some.legal, NETWORK.judge_many(some.positions, some.masks)["policy"], -np.inf)
    rows, chosen = np.arange(len(some)), logits.argmax(1)
    for kind, right, most, held in ((SCORES, some.perfect, 0.45, 0.6), (RESULTS, some.kept, 0.2, 0.5)):
        wrong = ~right[rows, chosen]
        doubtful = doubts(NETWORK, some.positions, some.masks, kind) >= DOUBTFUL[kind]
        assert doubtful.mean() < most and doubtful[wrong].mean() > held and wrong.sum() > 30


@pytest.mark.parametrize("doubt", DOUBTFUL)
def test_walks_with_doubts(doubt, tmp_path, monkeypatch):
    """Only doubtful positions, all of those of the same walks; another network's shards are not gone on with."""
    monkeypatch.setitem(labels.MIXES, labels.WALKS, {14: 1})
    monkeypatch.setattr(pool, "worker_pool", pool_in_place)
    config = Config(120, labels.WALKS, seed=4, shard=120, workers=1, table_bits=18, output=tmp_path)
    config = replace(config, judge=str(FILE), doubt=doubt)
    labels.train(config)
    found, recipe = read_shard(tmp_path / "00000.shard")
    assert len(found) > 5 and (doubts(NETWORK, found.positions, found.masks, doubt) >= DOUBTFUL[doubt]).all()
    everything = labels.walk_shard(4, 120 * labels.WALKS_A_DOUBT[doubt], labels.WALKS, 0)
    doubted = doubts(NETWORK, everything.positions, everything.masks, doubt) >= DOUBTFUL[doubt]
    assert sorted(found.masks.tolist()) == sorted(everything.masks[doubted].tolist())
    other = tmp_path / "other.bin"
    other.write_bytes(Network(Architecture("stones-1", (("dense", 4),))).to_bytes())
    assert recipe == labels.recipe_of(config) != labels.recipe_of(replace(config, judge=str(other)))
    with pytest.raises(ValueError, match="holds shards made by"):
        labels.missing_shards(replace(config, judge=str(other)))
    with pytest.raises(ValueError, match="should be a network of 7x6 that judges replies"):
        labels.judge_of(replace(config, judge=str(other)))
