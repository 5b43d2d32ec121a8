"""Packed labels: scores alone, with which played games become the same shards again, and labels with positions."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from connectx.geometry import STANDARD
from connectx.position import Position
from connectx.score import NO_MOVE
from connectx.solver import Solver
from connectx_toolkit.cli import train
from connectx_toolkit.training.data import packed
from connectx_toolkit.training.data.sampling import moves_of, random_games
from connectx_toolkit.training.data.shards import read_labels, read_shard
from connectx_toolkit.training.methods import labels
from connectx_toolkit.training.support import pool
from tests.training.in_place import pool_in_place

SHARDS, SIZE = 5, 40


def run(*words: object) -> int:
    return train.main([str(word) for word in words])


def grow(output: Path, shards: int = SHARDS, packed_in: Path | str = "none") -> int:
    """Makes shards of the mix "varied"."""
    options = ["--seed", 5, "--shard", SIZE, "--workers", 1, "--table-bits", 18, "--packed", packed_in]
    return run("labels", "--mix", "varied", "--positions", shards * SIZE, *options, "--output", output)


@pytest.fixture(scope="module", autouse=True)
def in_this_process():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "worker_pool", pool_in_place)
        patch.setitem(labels.MIXES, labels.VARIED, dict.fromkeys(range(17, 24), 1))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Five shards, of which three and two are packed."""
    path = tmp_path_factory.mktemp("made")
    assert grow(path / "shards") == 0
    assert run("pack", "--labels", path / "shards", "--block", 3, "--output", path / "scores") == 0
    assert run("pack", "--labels", path / "shards", "--form", "labels", "--output", path / "labels") == 0
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_the_board_shows_is_true():
    """Against the solver: wins at once, replies that win, full columns. Most other moves are left to be kept."""
    positions, masks = random_games(np.arange(15, 40), np.random.default_rng(3), Solver(STANDARD, 18))
    positions, masks = positions[masks >= 0], masks[masks >= 0]
    scores, searched = packed.scores_at_sight(positions, masks)
    assert (searched <= (moves_of(masks, STANDARD) != 0)).all() and 0.1 < searched.mean() < 0.5
    solver = Solver(STANDARD, 18)
    for row, state in enumerate(zip(positions.tolist(), masks.tolist(), strict=True)):
        true = [NO_MOVE if value is None else value.low for value in solver.scores(Position(*state, STANDARD))]
        assert np.array(true)[~searched[row]].tolist() == scores[row][~searched[row]].tolist()


def test_games_and_packed_scores_give_the_same_shards(made, tmp_path, monkeypatch):
    """Byte for byte, without a solver; shards whose scores nobody has packed are solved."""
    monkeypatch.setattr(labels, "score_moves", None)
    assert grow(tmp_path / "again", packed_in=made / "scores") == 0
    assert contents(tmp_path / "again") == contents(made / "shards")
    monkeypatch.undo()
    (tmp_path / "scores").mkdir()
    shutil.copy(made / "scores" / "00001.scores", tmp_path / "scores")
    assert grow(tmp_path / "partly", 4, tmp_path / "scores") == 0
    assert contents(tmp_path / "partly").items() <= contents(made / "shards").items()


def test_scores_of_other_games_are_refused(made, tmp_path, monkeypatch, capsys):
    """Another version may play other games from the same seed: no shard gets the scores of other positions."""
    monkeypatch.setitem(labels.PLAY, labels.VARIED, labels.PLAY[labels.VARIED][::-1])
    assert grow(tmp_path / "other", packed_in=made / "scores") == 2
    error = capsys.readouterr().err
    assert "the packed scores of shard 0 are of other games" in error and "Traceback" not in error
    assert not (tmp_path / "other").exists()


def test_a_growing_folder(made, tmp_path, capsys):
    """Only files to which shards were added are written again; a limit refuses before anything is written."""
    shutil.copytree(made / "shards", tmp_path / "shards")
    (tmp_path / "shards" / "00004.shard").unlink()
    into = ["--labels", tmp_path / "shards", "--block", 3, "--output", tmp_path / "scores"]
    assert run("pack", *into) == 0
    before = {name: (tmp_path / "scores" / name).stat().st_mtime_ns for name in contents(tmp_path / "scores")}
    assert len(packed.unpack_scores((tmp_path / "scores" / "00001.scores").read_bytes())[0]) == 1
    shutil.copy(made / "shards" / "00004.shard", tmp_path / "shards")
    assert run("pack", *into, "--limit", 1e-6) == 2
    assert "above its limit of 1e-06" in capsys.readouterr().err
    assert run("pack", *into) == 0
    after = {name: (tmp_path / "scores" / name).stat().st_mtime_ns for name in contents(tmp_path / "scores")}
    assert before["00000.scores"] == after["00000.scores"] and before["00001.scores"] < after["00001.scores"]
    assert contents(tmp_path / "scores") == contents(made / "scores")


def test_packed_labels_are_read_as_shards_are(made):
    """Beside them, too: then each position counts once."""
    kept, found = read_labels(made / "shards"), read_labels(made / "labels")
    assert len(kept) > 150 and all((one == other).all() for one, other in zip(kept, found, strict=True))
    assert len(read_labels(made)) == len(kept)
    assert read_shard(made / "labels" / "shards.labels")[1] == [read_shard(made / "shards" / "00000.shard")[1]]
    assert (made / "labels" / "shards.labels").stat().st_size < 0.6 * sum(map(len, contents(made / "shards").values()))


def test_shards_of_another_recipe_do_not_replace_any(made, tmp_path, capsys):
    """Neither do they count as packed because they have the same numbers."""
    shutil.copytree(made / "scores", tmp_path / "scores")
    options = ["--shard", SIZE, "--workers", 1, "--table-bits", 18, "--packed", "none", "--output", tmp_path / "other"]
    assert run("labels", "--mix", "varied", "--positions", SIZE, "--seed", 6, *options) == 0
    assert run("pack", "--labels", tmp_path / "other", "--output", tmp_path / "scores") == 2
    assert "give another --output" in capsys.readouterr().err
    assert contents(tmp_path / "scores") == contents(made / "scores")


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("00000.scores", ("labels", "--packed"), "00000.scores holds no packed scores"),
        ("00000.labels", ("leaf", "--labels"), "00000.labels is no shard of labels"),
        ("notes", ("pack", "--labels"), "python train.py labels makes them"),
    ],
)
def test_other_files_are_refused(made, tmp_path, capsys, name, words, told):
    (tmp_path / name).write_bytes((made / "shards" / "00000.shard").read_bytes())
    assert run(*words, tmp_path, "--output", tmp_path / "new") == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1 and not (tmp_path / "new").exists()
