"""Labels, openings and the games of replies on a real cluster: the same as on this machine; a worker may die."""

import os
import signal
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.positions import random_samples
from connectx.opponent import arrays_of, columns_of_scores
from connectx.position import STANDARD
from connectx.solver import UNKNOWN, Solver
from connectx_toolkit.games.labelled import Labels
from connectx_toolkit.training import runs
from connectx_toolkit.training.makers import labels, opening_table, replies
from connectx_toolkit.training.makers.exact_scores import PositionFile, solve
from connectx_toolkit.training.makers.opponent_pool import Player
from tests.conftest import LINUX
from tests.training.in_place import pool_in_place

pytestmark = LINUX  # cores are reserved by its means


def make_few(note: Path, seed: int, number: int) -> Labels:
    """In place of ``labels.make``: few positions, and late ones. Kills its own process unless there is a note."""
    if not note.exists():
        note.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    late = [sample.position for sample in islice(random_samples(100 * seed + number, [20, 30]), 4)]
    positions, masks = arrays_of(late)
    return Labels(positions, masks, columns_of_scores([solve(position) for position in late]).astype(np.int8))


def test_a_worker_dies_while_it_labels(cluster, tmp_path, monkeypatch):
    """What it was doing is done again by another one, and the file is the one that a single process makes."""
    monkeypatch.setattr(runs, "worker_pool", pool_in_place)
    monkeypatch.setattr(labels, "make", partial(make_few, tmp_path / "note"))
    for name, scheduler in (("remote", cluster), ("here", "")):
        assert (tmp_path / "note").exists() == (name == "here")
        labels.train(labels.Config(games=6 * labels.GAMES, scheduler=scheduler, workers=1, run=tmp_path / name))
    assert (tmp_path / "remote" / "labels.labels").read_bytes() == (tmp_path / "here" / "labels.labels").read_bytes()


def test_openings(cluster, tmp_path):
    """Each score is the solver's, and is in the file."""
    positions = [sample.position.canonical() for sample in islice(random_samples(1, [16]), 8)]
    config = opening_table.Config(
        table_bits=20, scheduler=cluster, scores=tmp_path / "scores.txt", run=tmp_path / "run"
    )
    with PositionFile(config.scores, opening_table.SCORE, STANDARD) as scores:
        opening_table.solve_all([(position, UNKNOWN) for position in positions], scores, config)
    with PositionFile(config.scores, opening_table.SCORE, STANDARD) as scores:
        solver = Solver(STANDARD, 20)
        assert scores.known == {position: solver.solve(position).low for position in positions}


def test_games_of_replies(cluster, tmp_path):
    """Moves against careless play are those of this process."""
    players = (Player("minimax", 4), Player("mcts", 200))
    remote = replies.moves_of_all(
        players, replies.Config(plays=1, rematches=0, scheduler=cluster, run=tmp_path / "remote")
    )
    here = replies.moves_of_all(players, replies.Config(plays=1, rematches=0, workers=1, run=tmp_path / "here"))
    for one, other in zip(remote, here, strict=True):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))
