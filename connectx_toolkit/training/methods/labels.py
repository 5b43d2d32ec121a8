"""Labels positions with the exact score of every move: what the networks learn from.

The positions are those of games of five kinds, from random to near-perfect, in which a move has to be chosen (see
training/data/sampling.py). Our own solver scores them, some 200 a second on a core. All positions of the first eight
plies come besides, from the table of openings, whenever labels are read.

The run's folder keeps a file for every 150 games. An interrupted run goes on from there, more games add to those that
are there, and the same seed gives the same labels for any number of processes and machines.
"""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from connectx.geometry import STANDARD
from connectx_toolkit.console.files import check_folder
from connectx_toolkit.console.progress import progress
from connectx_toolkit.training.data.labels import (
    SUFFIX,
    Labels,
    concatenated,
    read_file,
    splits_of,
    to_bytes,
    write_labels,
)
from connectx_toolkit.training.data.sampling import FIRST, sample, score_moves
from connectx_toolkit.training.support.manifest import publish
from connectx_toolkit.training.support.options import Options, option
from connectx_toolkit.training.support.pool import process_solver, solver_pool

TABLE_BITS = 22  # log2 of the entries of each process's table: 32 MiB
GAMES = 150  # of a file


@dataclass
class Config(Options):
    """Options of ``train.py labels``."""

    METHOD = "labels"

    games: int = option(30_000, "number of games to play, each of which gives about eight positions", least=1)
    seed: int = option(1, "random seed of the games")
    workers: int = option(os.cpu_count() or 1, "number of processes on this machine", least=1, is_free=True)
    scheduler: str = option("", "address of a dask cluster to use instead, such as tcp://10.0.0.1:8786", is_free=True)
    run: Path = option(Path("runs/labels"), "folder of the run")
    output: Path = option(Path(), "file to write: the labels", in_run="labels.labels")

    @property
    def recipe(self) -> dict[str, Any]:
        """What the content of a file depends on besides its number."""
        return {"seed": self.seed, "games": GAMES, "first": {str(ply): share for ply, share in FIRST.items()}}


def make(seed: int, number: int) -> Labels:
    """The labels of a file, in a worker."""
    solver = process_solver()
    solver.clear()
    positions, masks = sample(GAMES, np.random.default_rng((seed, number)), STANDARD)
    return Labels(positions, masks, score_moves(positions, masks, solver))


def files_of(config: Config) -> list[Path]:
    """The files that the run consists of.

    Raises:
        ValueError: one that is there is of another recipe, or damaged.
    """
    files = [config.run / "games" / f"{number:05}{SUFFIX}" for number in range(-(-config.games // GAMES))]
    for path in filter(Path.exists, files):
        if (found := read_file(path)[1]) != config.recipe:
            raise ValueError(f"{config.run} holds labels of {found}, not of {config.recipe}: choose another --run")
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
    publish(config, to_bytes(labels, config.recipe | {"of": config.games}), facts)
    print(f"{config.output}: {len(labels):,} positions, {counts[0]:,} to learn from")
    return facts
