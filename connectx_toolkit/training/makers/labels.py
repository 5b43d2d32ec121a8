"""Plays games and labels their positions with the exact score of every move: what the networks learn from.

The games are half-random and near-perfect ones; positions whose moves all have the same score are left out (see
training/positions.py). Our own solver scores the rest. All positions of the first eight plies are added from the
opening table, whenever labels are read.

The run's folder keeps a file for every 150 games. An interrupted run goes on from there, and more games add to them.
The same seed gives the same labels for any number of processes and machines.
"""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from connectx.books import openings
from connectx_toolkit.games.labelled import (
    LABELS_SUFFIX,
    Labels,
    concatenated,
    read_file,
    spread_keys,
    to_bytes,
    write_labels,
)
from connectx_toolkit.system.console import progress, shell
from connectx_toolkit.system.files import check_folder
from connectx_toolkit.training.options import Options, option
from connectx_toolkit.training.positions import ERROR_SHARES, TAKEN, labelled_games
from connectx_toolkit.training.runs import process_solver, publish, solver_pool

TRAINING, VALIDATION, TEST = range(3)  # splits
HELD_OUT = {False: 64, True: 20}  # one in so many positions is for validation and one for test; True: below FEW stones
FEW = 18  # stones; there are fewer labels with fewer stones, so that a larger share is held out


def splits_of(positions: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """TRAINING, VALIDATION or TEST, for each position by its key: (n,) uint8. Mirror images share a split."""
    spread = spread_keys(positions, masks) >> np.uint64(40)
    remainder = spread % np.where(np.bitwise_count(masks) < FEW, HELD_OUT[True], HELD_OUT[False])
    return np.select([remainder == 0, remainder == 1], [TEST, VALIDATION], TRAINING).astype(np.uint8)


def labels_of(labels: Labels, split: int) -> Labels:
    """The labels of a split: TRAINING, VALIDATION or TEST. Raises ValueError if there are none."""
    chosen = labels.take(np.flatnonzero(splits_of(labels.positions, labels.masks) == split))
    if not len(chosen):
        raise ValueError("too few labels: a split is empty")
    return chosen


def opening_labels() -> Labels:
    """Labels of all positions of plies 0 to 7, mirror images counted once, from the table of openings: 38,203."""
    plies = list(openings().scores_by_ply())
    positions, masks = (np.concatenate(parts) for parts in zip(*(layer for layer, _ in plies), strict=True))
    return Labels(positions, masks, np.concatenate([scores for _, scores in plies]))


def read_labels(path: Path) -> Labels:
    """What networks learn from: the labels of a file, and those of all positions of plies 0 to 7.

    Raises:
        ValueError: there is no such file, or it is no file of labels.
    """
    if not path.is_file():
        raise ValueError(f"no labels in {path}: {shell('train labels')} makes them")
    return concatenated([read_file(path)[0], opening_labels()])


TABLE_BITS = 22  # log2 of the entries of each process's table: 32 MiB
FILE_GAMES = 150  # of a file


@dataclass
class Config(Options):
    """Options of ``train.py labels``."""

    METHOD = "labels"

    games: int = option(30_000, "number of games to play, each of which gives about 20 positions", least=1)
    seed: int = option(1, "random seed of the games", least=0)
    workers: int = option(os.cpu_count() or 1, "number of processes on this machine", least=1, is_free=True)
    scheduler: str = option("", "address of a dask cluster to use instead, such as tcp://10.0.0.1:8786", is_free=True)
    run: Path = option(Path("runs/labels"), "folder of the run")
    output: Path = option(Path(), "file to write: the labels", in_run="labels.labels")

    @property
    def recipe(self) -> dict[str, Any]:
        """What the content of a file depends on besides its number."""
        taken = {str(stones): share for stones, share in TAKEN.items() if share}
        return {"seed": self.seed, "games": FILE_GAMES, "random": list(ERROR_SHARES), "taken": taken}


def make(seed: int, number: int) -> Labels:
    """The labels of a file, in a worker."""
    solver = process_solver()
    solver.clear()
    return labelled_games(FILE_GAMES, np.random.default_rng((seed, number)), solver)


def files_of(config: Config) -> list[Path]:
    """The files that the run consists of.

    Raises:
        ValueError: one that is there is of another recipe, or damaged.
    """
    files = [config.run / "games" / f"{number:05}{LABELS_SUFFIX}" for number in range(-(-config.games // FILE_GAMES))]
    for path in filter(Path.exists, files):
        if (made_as := read_file(path)[1]) != config.recipe:
            raise ValueError(f"{config.run} holds labels of {made_as}, not of {config.recipe}: choose another --run")
    return files


def train(config: Config) -> dict[str, Any]:
    """Makes the files that are missing, then the one of all labels."""
    check_folder(config.output, is_made=True)
    files = files_of(config)
    missing = [number for number, path in enumerate(files) if not path.exists()]
    files[0].parent.mkdir(parents=True, exist_ok=True)
    bar_of = partial(progress, len(files), "file", done=len(files) - len(missing), delay=0)
    with solver_pool(config.workers, TABLE_BITS, config.scheduler) as pool, bar_of() as bar:
        for number, labels in pool.map_unordered(partial(make, config.seed), missing):
            write_labels(files[number], labels, config.recipe)
            bar.update()
    labels = concatenated([read_file(path)[0] for path in files])
    counts = np.bincount(splits_of(labels.positions, labels.masks), minlength=3).tolist()
    facts = {"positions": len(labels), **dict(zip(("training", "validation", "test"), counts, strict=True))}
    score = f"{len(labels):,} positions with exact scores, {counts[0]:,} to learn from"
    publish(config, to_bytes(labels, config.recipe | {"of": config.games}), facts, score)
    return facts
