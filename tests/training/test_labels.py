"""Exact labels: true to an independent minimax, resumable, in proportion, mirrored and split without leaks."""

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from connectx.geometry import STANDARD
from connectx.openings import openings
from connectx.position import Position, has_line, open_cells, winning_spots
from connectx.score import NO_MOVE
from connectx.solver import Solver
from connectx.weights import pack
from connectx_toolkit.cli import train
from connectx_toolkit.training.data import sampling
from connectx_toolkit.training.data import shards as kept
from connectx_toolkit.training.data.sampling import careful_games, hard_games
from connectx_toolkit.training.data.shards import Labels, canonical_keys, read_labels, read_shard, splits_of
from connectx_toolkit.training.methods import labels
from connectx_toolkit.training.methods.labels import Config
from connectx_toolkit.training.support import pool
from tests.training.in_place import pool_in_place

PLIES = dict.fromkeys(range(22, 41), 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two shards of 120 late positions and one book position, made once."""
    path = tmp_path_factory.mktemp("labels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(labels.MIXES, labels.LATE, PLIES)
        patch.setattr(pool, "worker_pool", pool_in_place)
        book = path / "scores.txt"
        book.write_text("0 0 -2 -1 0 1 0 -1 -2\n")
        labels.train(Config(240, shard=120, workers=1, table_bits=18, book_scores=book, output=path / "out"))
    return path / "out"


def test_scores_are_exact(folder):
    """Every score against the solver's own answer for each move, which bitbully and minimax vouch for elsewhere."""
    found, solver = read_shard(folder / "00000.shard")[0], Solver(STANDARD)
    assert len(found) == 120 and {0, 1} == set(found.origins.tolist())
    for position, mask, scores in zip(found.positions.tolist(), found.masks.tolist(), found.scores, strict=True):
        values = solver.scores(Position(position, mask, STANDARD))
        assert scores.tolist() == [NO_MOVE if value is None else value.low for value in values]


def test_no_game_is_over_and_plies_are_as_planned(folder):
    for number in (0, 1):
        found = read_shard(folder / f"{number:05}.shard")[0]
        assert not any(has_line(p, STANDARD) or has_line(p ^ m, STANDARD)
                       for p, m in zip(found.positions.tolist(), found.masks.tolist(), strict=True))  # fmt: skip
        assert set(found.plies.tolist()) == set(PLIES)


def test_what_labels_say_of_moves():
    found = Labels(
        np.zeros(3, np.int64),
        np.zeros(3, np.int64),
        np.array([[-3, 2, 5, 5, NO_MOVE, 0, -1], [-2, -2, -9, -2, -2, -2, -2], [0, 0, 0, 0, 0, 0, -1]], np.int8),
        np.zeros(3, np.uint8),
    )
    assert found.values.tolist() == [5, -2, 0]
    assert found.kept.astype(int).tolist() == [[0, 1, 1, 1, 0, 0, 0], [1] * 7, [1, 1, 1, 1, 1, 1, 0]]
    assert found.perfect[0].nonzero()[0].tolist() == [2, 3] and found.legal.sum() == 20
    assert found.decisive.tolist() == [True, False, True]


def test_a_run_goes_on_where_it_ended(folder, tmp_path, monkeypatch):
    """A missing shard comes back byte for byte, the others are not made again; other recipes are refused."""
    monkeypatch.setitem(labels.MIXES, labels.LATE, PLIES)
    again = tmp_path / "again"
    shutil.copytree(folder, again)
    content = (again / "00001.shard").read_bytes()
    (again / "00001.shard").unlink()
    config = Config(240, shard=120, workers=1, table_bits=18, book_scores=tmp_path / "none.txt", output=again)
    assert labels.missing_shards(config) == [1]
    pool.make_solver(18)
    made = labels.make_shard(labels.positions_maker(config), None, 0, 1)
    assert pack(made.labels._asdict(), labels.recipe_of(config)) == content
    monkeypatch.setitem(labels.MIXES, labels.LATE, {30: 1})
    with pytest.raises(ValueError, match="holds shards made by"):
        labels.missing_shards(config)


def test_mirror_images_count_once_and_share_a_split(folder):
    found = read_labels(folder)
    keys = {p.key for p in map(_position, found.positions, found.masks)}
    assert not any(p.mirror().key in keys - {p.key} for p in map(_position, found.positions, found.masks))
    mirrored = [_position(*stones).mirror() for stones in zip(found.positions, found.masks, strict=True)]
    positions, masks = (np.array([getattr(p, part) for p in mirrored]) for part in ("position", "mask"))
    assert (splits_of(positions, masks) == splits_of(found.positions, found.masks)).all()


def test_shares_of_the_splits():
    rng = np.random.default_rng(1)
    masks = rng.integers(1 << 49, size=100_000) & STANDARD.board_mask
    splits = splits_of(masks & rng.integers(1 << 49, size=len(masks)), masks)
    few = np.bitwise_count(masks) < kept.FEW
    for chosen in (few, ~few):
        shares = np.bincount(splits[chosen], minlength=3) / chosen.sum()
        wanted = 1 / kept.HELD_OUT[bool(chosen is few)]
        assert abs(shares[1:] - wanted).max() < 0.2 * wanted


@pytest.mark.parametrize("mix", labels.MIXES.values(), ids=labels.MIXES)
def test_proportions_over_shards(mix):
    """Rare plies come in some shards, at their rate."""
    counts = np.bincount(np.concatenate([labels.plies_of_shard(n, 100, mix) for n in range(500)]), minlength=42)
    wanted = np.array([mix.get(ply, 0) for ply in range(42)]) / sum(mix.values())
    assert abs(counts / counts.sum() - wanted).max() < 1e-3 and counts[: min(mix)].sum() == 0
    assert counts[min(mix) + 1] > 0


def test_a_folder_within_is_read_too(folder, tmp_path):
    """Early positions lie in a folder of their own within the late ones'; there is no book among them."""
    both = tmp_path / "both"
    shutil.copytree(folder, both)
    config = Config(40, labels.EARLY, seed=2, shard=40, workers=1, table_bits=18, output=both / "early")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(labels.MIXES, labels.EARLY, {17: 1})
        patch.setattr(pool, "worker_pool", pool_in_place)
        labels.train(config)
    assert [path.name for path in config.output.iterdir()] == ["00000.shard"]
    early = read_labels(config.output)
    assert set(early.plies) == {17} and len(read_labels(both)) == len(read_labels(folder)) + len(early)


def test_walks(tmp_path, monkeypatch):
    """Positions with a choice, several of each game, in order, and every kind of game; made again they are the same."""
    monkeypatch.setitem(labels.MIXES, labels.WALKS, {13: 1, 14: 2})
    monkeypatch.setattr(pool, "worker_pool", pool_in_place)
    labels.train(Config(60, labels.WALKS, seed=4, shard=60, workers=1, table_bits=18, output=tmp_path))
    found = read_shard(tmp_path / "00000.shard")[0]
    assert 15 < len(found) < 60 and set(found.plies.tolist()) <= {13, 14, 15, 16}
    assert set(found.origins.tolist()) == set(labels.WALKING)
    steps = 0
    for earlier, later in pairwise(map(_position, found.positions, found.masks)):
        moves = earlier.ply < later.ply and earlier.mask & ~later.mask == 0
        steps += moves and later.ply == earlier.ply + 1
    assert steps > 5
    for position in map(_position, found.positions, found.masks):
        assert not position.winning_columns()
        assert sum(not position.play(column).winning_columns() for column in position.legal_columns()) >= 2
    again = labels.walk_shard(4, 60, labels.WALKS, 0)
    assert (again.positions == found.positions).all() and (again.origins == found.origins).all()


def test_late_walks():
    """Games begin to count with 11 or 12 stones and end with 20."""
    plies = np.bitwise_count(labels.walk_shard(4, 200, labels.LATE_WALKS, 0).masks)
    assert plies.min() == 11 and 16 < plies.max() <= 20 and (plies == 12).sum() > 2 * (plies == 11).sum()


def test_all_openings(tmp_path, monkeypatch):
    """Plies 0 to 7 from the table, ply 8 by the solver, each position's best move as the table has it."""
    monkeypatch.setattr(pool, "worker_pool", pool_in_place)
    labels.train(Config(2, labels.OPENINGS, seed=3, shard=2, workers=1, output=tmp_path))
    table, eighth = (read_shard(tmp_path / f"{stem}.shard")[0] for stem in ("table", "00000"))
    assert np.bincount(table.plies).tolist() == [1, 4, 25, 121, 568, 2144, 8231, 27109]
    known = openings()
    for found in (table.take(np.arange(0, len(table), 100)), eighth):
        for stones, mask, scores in zip(found.positions, found.masks, found.scores, strict=True):
            position = _position(stones, mask)
            assert max(scores) == known.score(position)
            if position.ply < 8:
                assert known.scores(position) == [None if score == NO_MOVE else score for score in scores.tolist()]
    assert eighth.plies.tolist() == [8, 8] and len(set(canonical_keys(eighth.positions, eighth.masks, STANDARD))) == 2


def test_kinds_of_play():
    """All give games of the plies that are wanted, of their own kind: how many let the next player win at once?"""
    plies, solver, gifts = np.full(300, 16), Solver(STANDARD, 10), {}
    for origin, play in dict(labels.PLAY[labels.VARIED]).items():
        positions, masks = play(plies, np.random.default_rng(5), solver)
        again = play(plies, np.random.default_rng(5), solver)
        assert (positions == again[0]).all() and (masks == again[1]).all()
        positions, masks = positions[masks >= 0], masks[masks >= 0]
        assert len(masks) > 150 and set(np.bitwise_count(masks)) == {16}
        sides = np.concatenate([positions, positions ^ masks])
        assert not any(has_line(side, STANDARD) for side in sides.tolist())
        gifts[origin] = (winning_spots(positions, masks, STANDARD) & open_cells(masks, STANDARD) != 0).mean()
    assert gifts[kept.CAREFUL_PLAY] < gifts[kept.AGENTS_PLAY] < gifts[kept.HALF_RANDOM_PLAY]
    assert gifts[kept.HALF_RANDOM_PLAY] < gifts[kept.RANDOM_PLAY] > 0.3 > 10 * gifts[kept.CAREFUL_PLAY]


def test_hard_positions_are_hard():
    """Each asked for alone, so that the solver is the same: what it needs fewer nodes for is left out."""
    solver, kept = Solver(STANDARD, 10), 0
    for seed in range(12):
        (stones,), (mask,) = careful_games(np.array([11]), np.random.default_rng(seed), solver)
        hard = hard_games(np.array([11]), np.random.default_rng(seed), solver)
        fresh = Solver(STANDARD, sampling.HARD_TABLE)
        if mask >= 0:
            fresh.solve(_position(stones, mask))
        assert (hard[1][0] >= 0) == (fresh.nodes >= sampling.HARD_NODES)
        kept += hard[1][0] >= 0
    assert 2 < kept < 10


def test_bad_folders(tmp_path, capsys):
    assert train.main(["distill", "--labels", str(tmp_path)]) == 2
    assert "python train.py labels makes them" in capsys.readouterr().err
    (tmp_path / "00000.shard").write_bytes(b"CXW2 and nothing good")
    assert train.main(["labels", "--output", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "is no shard of labels" in error and error.count("\n") == 1
    new = tmp_path / "new"
    assert train.main(["labels", "--book-scores", str(tmp_path / "misspelt"), "--output", str(new)]) == 2
    assert "misspelt: python train.py book makes them" in capsys.readouterr().err
    assert not (tmp_path / "misspelt").exists() and not new.exists()


def _position(position: int, mask: int) -> Position:
    return Position(int(position), int(mask), STANDARD)


def test_choices_leave_a_choice():
    """Nobody wins at once, and two or more moves do not lose at once: by trying every move of every position."""
    rng, solver = np.random.default_rng(1), Solver(STANDARD, 16)
    for origin, play in labels.PLAY[labels.CHOICES]:
        positions, masks = play(np.full(60, 24), rng, solver)
        found = [Position(p, m, STANDARD) for p, m in zip(positions.tolist(), masks.tolist(), strict=True) if m >= 0]
        assert 0 < len(found) < 60, origin
        for position in found:
            answers = [c for c in position.legal_columns() if not position.play(c).winning_columns()]
            assert position.ply == 24 and not position.winning_columns() and len(answers) >= 2
