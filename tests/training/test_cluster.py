"""Labels, openings and the games of replies on a real cluster: the same as on this machine; a worker may die."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from connectx.geometry import STANDARD
from connectx.openings import layers
from connectx.position import Position
from connectx.solver import UNKNOWN, Solver
from connectx_toolkit.places import ROOT
from connectx_toolkit.training.data.book_scores import PositionFile
from connectx_toolkit.training.games.opponent_pool import Player
from connectx_toolkit.training.methods import openings, replies
from tests.arena.test_remote import workers_of
from tests.conftest import LINUX

pytestmark = LINUX  # cores are reserved by its means


def labels_command(run: Path, *options: str) -> list[str]:
    return [sys.executable, str(ROOT / "train.py"), "labels", "--games", "450", "--run", str(run), *options]


def test_a_worker_dies_while_it_labels(cluster, tmp_path):
    """What it was doing is done again by another one, and the file is the one that a single process makes."""
    before = workers_of(cluster)
    run = subprocess.Popen(labels_command(tmp_path / "remote", "--scheduler", cluster), stdout=subprocess.DEVNULL)
    time.sleep(5)
    assert run.poll() is None
    os.kill(before[0], signal.SIGKILL)
    assert run.wait() == 0
    subprocess.run(labels_command(tmp_path / "here", "--workers", "1"), check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "remote" / "labels.labels").read_bytes() == (tmp_path / "here" / "labels.labels").read_bytes()


def test_openings(cluster, tmp_path):
    """Each score is the solver's, and is in the file."""
    *_, last = layers(STANDARD, 7)
    rows = np.random.default_rng(1).choice(len(last.masks), 4, replace=False)
    positions = [Position(int(last.positions[row]), int(last.masks[row]), STANDARD) for row in rows]
    config = openings.Config(table_bits=20, scheduler=cluster, scores=tmp_path / "scores.txt", run=tmp_path / "run")
    with PositionFile(config.scores, openings.SCORE, STANDARD) as scores:
        openings.solve_all([(position, UNKNOWN) for position in positions], scores, config)
    with PositionFile(config.scores, openings.SCORE, STANDARD) as scores:
        solver = Solver(STANDARD, 20)
        assert scores.known == {position: solver.solve(position).low for position in positions}


def test_games_of_replies(cluster, tmp_path):
    """Moves against careless play are those of this process."""
    players = (Player("minimax", 4), Player("mcts", 200))
    remote = replies.moves_of_all(
        players, replies.Config(plays=2, rematches=0, scheduler=cluster, run=tmp_path / "remote")
    )
    here = replies.moves_of_all(players, replies.Config(plays=2, rematches=0, workers=1, run=tmp_path / "here"))
    for one, other in zip(remote, here, strict=True):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))
