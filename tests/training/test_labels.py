"""Exact labels: true to the solver, resumable, mirrored and split without leaks."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from connectx_core.afterstates import MoveNetwork
from connectx_core.books import openings
from connectx_core.network import masked_argmax
from connectx_core.position import NO_MOVE, STANDARD, Position, mirror_bits, open_cells, winning_spots
from connectx_core.solver import Solver
from connectx_toolkit.games.labelled import BOUND, Labels, concatenate_labels, read_file
from connectx_toolkit.system import files
from connectx_toolkit.system.files import WEIGHTS, file_lock
from connectx_toolkit.training import runs
from connectx_toolkit.training.makers import labels
from connectx_toolkit.training.makers.labels import (
    Config,
    label_games,
    opening_labels,
    play_paths,
    read_foreign_labels,
    read_labels,
    splits_of,
)
from tests.conftest import wait_until
from tests.training.in_place import pool_in_place

pytestmark = pytest.mark.slow
LATE = dict.fromkeys(range(24), 0.0)  # the solver takes no time for what has more stones


@pytest.fixture(scope="module", autouse=True)
def _quick():
    """In this process, files of four games, and late positions alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "worker_pool", pool_in_place)
        patch.setattr(labels, "TAKEN", LATE)
        patch.setattr(labels, "FILE_GAMES", 4)
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """Two files of 4 games each."""
    folder = tmp_path_factory.mktemp("labels") / "run"
    labels.train(Config(games=8, workers=1, run=folder))
    return folder


def positions_of(found: Labels) -> list[Position]:
    return [Position(int(p), int(m), STANDARD) for p, m in zip(found.positions, found.masks, strict=True)]


def test_scores_are_exact(run):
    """Every score against the solver's own answer for each move, which bitbully and minimax vouch for elsewhere.

    A bound is one, and below the score of the best moves.
    """
    found, solver = read_file(run / "labels.labels")[0], Solver(STANDARD)
    assert len(found) > 20 and 0 < found.whole.mean() < 0.6
    for position, scores, exact in zip(positions_of(found), found.scores, found.exact, strict=True):
        truth = np.array([NO_MOVE if value is None else value.low for value in solver.scores(position)])
        legal = truth != NO_MOVE
        assert (scores[exact] == truth[exact]).all() and exact[truth == truth.max()].all()
        assert (scores[~legal] == NO_MOVE).all() and (truth[legal & ~exact] <= scores[legal & ~exact] + BOUND).all()


def test_games_are_half_random_and_near_perfect(monkeypatch):
    """Nobody has a line, moves differ in their scores, and those that are not random are the network's."""
    monkeypatch.setattr(labels, "LAST_TAKEN", 20)
    network = MoveNetwork.from_bytes((WEIGHTS / "policy.bin").read_bytes())
    paths = play_paths(12, np.random.default_rng(3), network)
    assert (
        len(paths) == 12 and max(map(len, paths)) == 21 and paths == play_paths(12, np.random.default_rng(3), network)
    )
    assert not any(position.is_over() for path in paths for position in path)
    monkeypatch.setattr(labels, "ERROR_SHARES", (0.0,))
    (path,) = play_paths(1, np.random.default_rng(4), network)
    assert [openings().score(position) for position in path[6:8]] in ([1, -1], [-1, 1], [0, 0])
    for before, after in pairwise(path[8:]):
        liked = before.play(masked_argmax(network.evaluate(before)["policy"], before))
        assert after == liked or liked.is_over()
    monkeypatch.setattr(labels, "LAST_TAKEN", 30)
    found = label_games(4, np.random.default_rng(4), Solver(STANDARD), network, 0.1)
    assert len(found) and (found.legal & ~found.perfect).any(1).all()


def test_labels_of_others_are_checked(run, tmp_path, monkeypatch):
    """By the solver, a sample of them; what is no position, or no such file, is refused before."""
    monkeypatch.setattr(labels, "FEWEST", 20)
    some = read_file(run / "labels.labels")[0]
    good, path = some._asdict(), tmp_path / "hard.npz"
    np.savez(path, **good)
    assert len(read_foreign_labels(path, 1)) == len(some)
    wrong, floating = good["scores"] + some.exact, good["masks"] << 1
    faults = {
        "scores of moves are": {"scores": wrong},
        "row 0 is no position": {"masks": floating},
        "int8 were expected": {"scores": wrong.astype(float)},
    }
    for message, arrays in faults.items():
        np.savez(path, **good | arrays)
        with pytest.raises(ValueError, match=message):
            read_foreign_labels(path, 1)
    path.write_bytes(b"PK nothing")
    with pytest.raises(ValueError, match=r"hard\.npz: an \.npz with positions"):
        read_foreign_labels(path, 1)


def test_a_run_goes_on_where_it_ended(run, tmp_path):
    """A missing file comes back byte for byte; more games add to those that are there."""
    again = tmp_path / "again"
    shutil.copytree(run, again)
    file, whole = again / "games" / "00001.labels", (run / "labels.labels").read_bytes()
    content, first = file.read_bytes(), (again / "games" / "00000.labels").stat().st_mtime_ns
    file.unlink()
    labels.train(Config(games=8, workers=1, run=again))
    assert file.read_bytes() == content and (again / "labels.labels").read_bytes() == whole
    assert (again / "games" / "00000.labels").stat().st_mtime_ns == first
    labels.train(Config(games=10, workers=1, run=again))
    few = again / "games" / "00002.labels"
    assert read_file(few)[1]["games"] == 2 and (again / "games" / "00000.labels").stat().st_mtime_ns == first
    labels.train(Config(games=12, workers=1, run=again))
    assert len(read_file(again / "labels.labels")[0]) > len(read_file(run / "labels.labels")[0])
    assert read_file(few)[1]["games"] == 4
    (again / "games" / "00000.labels").unlink()  # those of one recipe are recognised by any file
    with pytest.raises(ValueError, match=r"again holds labels of .*'seed': 1.*, not of .*'seed': 2.*another --run"):
        labels.train(Config(games=8, seed=2, workers=1, run=again))


def test_a_second_run_in_a_folder_waits_and_makes_nothing_again(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(files, "QUIET_WAIT", 0.05)
    monkeypatch.setattr(labels, "make_file", lambda *_: pytest.fail("made again"))
    (second := tmp_path / "second").mkdir()
    with ThreadPoolExecutor() as threads:
        with file_lock(second / "games"):  # as the first run, which ends meanwhile
            waiting = threads.submit(labels.train, Config(games=8, workers=1, run=second))
            wait_until(lambda: "another process makes the labels of" in capsys.readouterr().err)
            shutil.copytree(run / "games", second / "games")
        waiting.result(60)
    assert (second / "labels.labels").read_bytes() == (run / "labels.labels").read_bytes()


def test_hard_positions_alone(run, tmp_path):
    """With --open-lines 0 nobody can make a line with the next stone; by default some can."""
    labels.train(Config(games=4, open_lines=0.0, workers=1, run=tmp_path))

    def is_open(found: Labels) -> np.ndarray:
        lines = [winning_spots(stones, found.masks, STANDARD) for stones in (found[0], found[0] ^ found[1])]
        return (lines[0] | lines[1]) & open_cells(found.masks, STANDARD) != 0

    hard = read_file(tmp_path / "labels.labels")[0]
    assert len(hard) > 10 and not is_open(hard).any() and is_open(read_file(run / "labels.labels")[0]).any()
    with pytest.raises(ValueError, match=r"holds labels of .*'open': 0\.0.*, not of .*'open': 0\.1"):
        labels.train(Config(games=4, workers=1, run=tmp_path))


def test_what_labels_say_of_moves():
    nothing = np.zeros(3, np.int64)
    found = Labels(
        nothing,
        nothing,
        np.array([[-3, 2, 5, 5, NO_MOVE, 0, -1], [-2, -2, -9, -2, -2, -2, -2], [0, 0, 0, 0, 0, 0, -1]], np.int8),
    )
    assert found.values.tolist() == [5, -2, 0]
    assert found.good.astype(int).tolist() == [[0, 1, 1, 1, 0, 0, 0], [1] * 7, [1, 1, 1, 1, 1, 1, 0]]
    assert found.perfect[0].nonzero()[0].tolist() == [2, 3] and found.legal.sum() == 20
    assert found.critical.tolist() == [True, False, True] and found.whole.all() and found.sure.all()
    bounds = Labels(
        nothing[:2], nothing[:2], np.array([[3, 2 - BOUND, 3, -BOUND, 1, 1, 1], [0, -1 - BOUND] + 5 * [0]], np.int8)
    )
    assert bounds.exact.sum() == 11 and not bounds.whole.any() and bounds.sure.tolist() == [False, True]
    assert bounds.values.tolist() == [3, 0] and bounds.good.astype(int).tolist() == [
        [1, 1, 1, 0, 1, 1, 1],
        [1, 0] + 5 * [1],
    ]


def test_mirror_images_count_once_and_share_a_split(run):
    found = read_file(run / "labels.labels")[0]
    mirrored = (mirror_bits(found.positions, STANDARD), mirror_bits(found.masks, STANDARD))
    assert (splits_of(*mirrored) == splits_of(found.positions, found.masks)).all()
    both = concatenate_labels([found, Labels(*mirrored, np.ascontiguousarray(found.scores[:, ::-1]))])
    assert len(both) == len(found)


def test_shares_of_the_splits():
    rng = np.random.default_rng(1)
    masks = rng.integers(1 << 49, size=100_000) & STANDARD.board_mask
    splits = splits_of(masks & rng.integers(1 << 49, size=len(masks)), masks)
    few = np.bitwise_count(masks) < labels.FEW
    for chosen in (few, ~few):
        shares = np.bincount(splits[chosen], minlength=3) / chosen.sum()
        wanted = 1 / labels.HELD_OUT[bool(chosen is few)]
        assert abs(shares[1:] - wanted).max() < 0.2 * wanted


def test_the_openings_are_among_them(run):
    """All positions of plies 0 to 7, with the scores of the table."""
    found = read_labels(run / "labels.labels")
    assert np.bincount(found.plies)[:8].tolist() == [1, 4, 25, 121, 568, 2144, 8231, 27109]
    early = opening_labels().take(np.arange(0, 38_000, 500))
    for position, scores in zip(positions_of(early), early.scores.tolist(), strict=True):
        assert openings().scores(position) == [None if score == NO_MOVE else score for score in scores]
