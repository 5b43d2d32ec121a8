"""Proven bounds from a solver's table: true, of every outcome, stored beside labels, and learnt from."""

from typing import Any

import numpy as np
import pytest
import torch

from connectx.geometry import STANDARD, geometry_of
from connectx.position import Position, key_of, stones_of
from connectx.solver import Solver
from connectx_toolkit.training.data import bounds as kept
from connectx_toolkit.training.data.bounds import SUFFIX, Bounds, even_shares, gleaned, read_bounds, write_bounds
from connectx_toolkit.training.data.examples import LARGEST, SCORES, BoundedExamples, BoundedScores, Encoded
from connectx_toolkit.training.data.held_out import unseen
from connectx_toolkit.training.data.sampling import careful_games, has_choice
from connectx_toolkit.training.data.shards import canonical_keys, read_shard
from connectx_toolkit.training.learning.label_losses import bounds_loss
from connectx_toolkit.training.methods import distill, labels
from connectx_toolkit.training.methods.distill import Config, Trainer
from connectx_toolkit.training.support import pool
from tests.training.in_place import pool_in_place


@pytest.fixture(scope="module")
def solver() -> Solver:
    """After it has solved some positions of 15 stones."""
    solver, rng = Solver(STANDARD, 18), np.random.default_rng(1)
    positions, masks = careful_games(np.full(12, 15), rng, solver)
    for position, mask in zip(positions.tolist(), masks.tolist(), strict=True):
        if mask >= 0:
            solver.scores(Position(position, mask, STANDARD))
    return solver


@pytest.mark.parametrize("shape", [(6, 7, 4), (4, 5, 3), (8, 6, 4)])
def test_keys_give_the_stones_back(shape):
    geometry, rng = geometry_of(*shape), np.random.default_rng(1)
    heights = rng.integers(0, geometry.rows + 1, (200, geometry.columns))
    masks = ((1 << heights) - 1 << geometry.stride * np.arange(geometry.columns)).sum(1)
    positions = masks & rng.integers(1 << 62, size=200)
    found = stones_of(key_of(positions, masks), geometry)
    assert (found[0] == positions).all() and (found[1] == masks).all()
    assert stones_of(int(key_of(positions[0], masks[0])), geometry) == (positions[0], masks[0])


def test_entries_are_true_and_of_different_positions(solver):
    """Against a solver that has not seen them; some are exact, some lower and some upper bounds."""
    entries = solver.entries()
    assert len(entries.masks) > 500 and (np.bitwise_count(entries.masks) >= 15).all()
    keys = canonical_keys(entries.positions, entries.masks, STANDARD)
    assert len(np.unique(keys)) == len(keys) and (keys == key_of(entries.positions, entries.masks)).all()
    fresh, kinds = Solver(STANDARD, 18), set()
    for row in np.random.default_rng(2).choice(len(keys), 150, replace=False):
        low, high = int(entries.lows[row]), int(entries.highs[row])
        score = fresh.solve(Position(int(entries.positions[row]), int(entries.masks[row]), STANDARD)).low
        assert low <= score <= high
        kinds.add((low == score, high == score))
    assert {(True, False), (False, True)} <= kinds


@pytest.mark.parametrize("compiled", [True, False])
def test_a_cleared_solver_has_no_entries(compiled):
    solver = Solver(STANDARD, 12, compiled=compiled)
    solver.solve(Position.from_moves([3, 3, 3, 3, 3, 2, 3, 2, 2, 2, 2, 4, 2, 0, 0, 0, 0, 0, 0, 4], STANDARD))
    assert len(solver.entries().masks)
    solver.clear()
    assert not len(solver.entries().masks) and not any(solver._table)


def test_even_shares():
    assert even_shares(np.array([5, 100, 0, 50]), 60).tolist() == [5, 28, 0, 27]
    assert even_shares(np.array([5, 3]), 100).tolist() == [5, 3]


def test_gleaned(solver, monkeypatch):
    """Quiet positions, about as many of each ply, the same for the same numbers drawn."""
    monkeypatch.setattr(kept, "FIRST", 19)
    found = gleaned(solver, 90, np.random.default_rng(3))
    positions, masks = stones_of(found.keys, STANDARD)
    plies = np.bincount(np.bitwise_count(masks))
    assert plies[:19].sum() == 0 and plies[19:22].tolist() == [30, 30, 30] and len(plies) == 22
    assert has_choice(positions, masks, STANDARD).all()
    again = gleaned(solver, 90, np.random.default_rng(3))
    assert all((a == b).all() for a, b in zip(found, again, strict=True))


def test_labels_leave_bounds(tmp_path, monkeypatch):
    """The labels are those made without; a shard whose bounds are missing is made again, byte for byte."""
    monkeypatch.setitem(labels.MIXES, labels.EARLY, {19: 1})
    monkeypatch.setattr(pool, "worker_pool", pool_in_place)
    options: dict[str, Any] = {"shard": 60, "workers": 1, "table_bits": 18, "mix": labels.EARLY}
    plain = labels.Config(120, output=tmp_path / "plain", **options)
    config = labels.Config(120, output=tmp_path / "bounds", bounds=5, **options)
    labels.train(plain)
    labels.train(config)
    for name in ("00000.shard", "00001.shard"):
        assert (plain.output / name).read_bytes() == (config.output / name).read_bytes()
    content = (config.output / f"00001{SUFFIX}").read_bytes()
    (config.output / f"00001{SUFFIX}").unlink()
    assert labels.missing_shards(config) == [1] and not labels.missing_shards(plain)
    labels.train(config)
    assert (config.output / f"00001{SUFFIX}").read_bytes() == content
    assert 0 < len(read_bounds(config.output)) <= 600
    assert len(read_shard(config.output / "00000.shard")[0]) == 60


def test_a_damaged_file_is_named(tmp_path):
    bounds = Bounds(np.array([7]), np.zeros(1, np.int8), np.ones(1, np.int8))
    write_bounds(tmp_path / f"0{SUFFIX}", bounds, {})
    assert read_bounds(tmp_path).keys.tolist() == [7]
    with pytest.raises(ValueError, match=r"no bounds in .*nothing: python train.py labels --bounds makes them"):
        read_bounds(tmp_path / "nothing")
    (tmp_path / f"1{SUFFIX}").write_bytes((tmp_path / f"0{SUFFIX}").read_bytes()[:-1])
    with pytest.raises(ValueError, match=rf"1{SUFFIX} holds no bounds: "):
        read_bounds(tmp_path)


def test_what_several_searches_have_proven_holds_together(tmp_path):
    """Of keys up to the largest, in any order, over files and within one."""
    largest = (1 << 49) - 1
    for number, (keys, lows, highs) in enumerate(
        [([largest, 5, 9], [-20, -21, 3], [21, 4, 3]), ([5, 5], [-1, -2], [21, 2]), ([largest], [-21], [0])]
    ):
        ends = (np.array(values, np.int8) for values in (lows, highs))
        write_bounds(tmp_path / f"{number}{SUFFIX}", Bounds(np.array(keys), *ends), {})
    found = read_bounds(tmp_path)
    assert [part.tolist() for part in found] == [[5, 9, largest], [-1, 3, -20], [2, 3, 0]]
    assert [part.dtype for part in found] == [np.int64, np.int8, np.int8]
    write_bounds(tmp_path / f"3{SUFFIX}", Bounds(np.array([7]), np.array([3], np.int8), np.array([2], np.int8)), {})
    with pytest.raises(ValueError, match=r"3\.bounds holds no bounds: ends of intervals that are no scores"):
        read_bounds(tmp_path)


def test_the_loss_is_that_of_the_interval():
    logits = torch.zeros(2, SCORES)
    ends = BoundedScores(torch.tensor([0, LARGEST]), torch.tensor([SCORES - 1, LARGEST]))
    assert float(bounds_loss(logits, ends)) == pytest.approx(np.log(SCORES) / 2, abs=1e-5)


def test_what_judges_a_network_is_not_in_its_bounds(solver):
    """Neither the position that is asked nor what its moves lead to."""
    found = gleaned(solver, 3000, np.random.default_rng(1))
    positions, masks = stones_of(found.keys[:40], STANDARD)
    asked = labels.Labels(positions, masks, np.zeros((40, 7), np.int8), np.zeros(40, np.uint8))
    left = unseen(found, asked)
    assert len(left) <= len(found) - 40 and not np.isin(found.keys[:40], left.keys).any()


def test_a_network_learns_from_bounds(solver, tmp_path):
    """What it has learnt of some bounds holds for others, of other games; labels alone tell it nothing of them."""
    found = gleaned(solver, 4000, np.random.default_rng(1))
    rows = np.random.default_rng(2).permutation(len(found))
    config = Config(encoding="lines-1", layers="dense:64", bounds_batch=256, learning_rate=0.01, samples=128 * 100)
    training, others = (BoundedExamples(found.take(part), config.encoding) for part in (rows[300:], rows[:300]))
    trainer = Trainer(config)

    def loss() -> float:
        planes, ends = others.batch(np.arange(len(others)))
        with torch.no_grad():
            return float(bounds_loss(distill.outputs_of(trainer.network, planes, len(others))["score"], ends))

    before = loss()
    known = labels.book_labels(labels.Config().book_scores)
    examples = distill.Examples(known.take(np.arange(1000, 1128)), config.architecture())
    batches = distill.batches(1, len(training), 256, 0)
    for _ in range(100):
        trainer.learn(*examples.batch(np.arange(len(examples))), training.batch(*next(batches)))
    assert loss() < 0.75 * before


def test_planes_are_those_of_the_encoding():
    keys = np.arange(1, 12_000)
    positions, masks = stones_of(keys, STANDARD)
    whole = Encoded(positions, masks, "lines-1", torch.device("cpu"))
    part = Encoded(positions[7000:], masks[7000:], "lines-1", torch.device("cpu"))
    assert (whole.packed[7000:] == part.packed).all()
