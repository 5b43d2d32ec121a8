"""Plays games and labels their positions with the best moves and their exact score: what the networks learn from.

The games are half-random and near-perfect ones, whose other moves a network chooses; our own solver labels their
positions (see training/positions.py). All positions of the first eight plies are added from the opening table, whenever
labels are read. --open-lines 0 takes hard positions alone: neither side can make a line with the next stone.

The run's folder keeps a file for every 150 games. An interrupted run goes on from there, and more games add to them.
The same seed gives the same labels for any number of processes and machines, as far as their networks round alike.
"""

import io
import os
import zipfile
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from connectx_core.afterstates import MoveNetwork
from connectx_core.books import openings
from connectx_core.exact import move_values
from connectx_core.position import NO_MOVE, STANDARD, Position, key_of, stones_of
from connectx_core.solver import Solver
from connectx_toolkit.games.labelled import (
    BOUND,
    LABELS_SUFFIX,
    Labels,
    concatenate_labels,
    labels_to_bytes,
    moves_of,
    read_file,
    spread_keys,
    write_labels,
)
from connectx_toolkit.system.console import progress, shell
from connectx_toolkit.system.files import ROOT, WEIGHTS, check_folder, file_lock
from connectx_toolkit.training.options import Options, digest_of, option
from connectx_toolkit.training.positions import ERROR_SHARES, TAKEN, WHOLE, labelled_games, stored
from connectx_toolkit.training.runs import process_solver, publish, solver_pool

LABELS = ROOT / "labels" / "hard.labels"  # those that the toolkit's networks have learnt from; not in the package
TRAINING, VALIDATION, TEST = range(3)  # splits
HELD_OUT = {False: 64, True: 20}  # one in so many positions is for validation and one for test; True: below FEW stones
FEW = 18  # stones; there are fewer labels with fewer stones, so that a larger share is held out


def splits_of(positions: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """TRAINING, VALIDATION or TEST, for each position by its key: (n,) uint8. Mirror images share a split."""
    spread = spread_keys(positions, masks) >> np.uint64(40)
    remainder = spread % np.where(np.bitwise_count(masks) < FEW, HELD_OUT[True], HELD_OUT[False])
    return np.select([remainder == 0, remainder == 1], [TEST, VALIDATION], TRAINING).astype(np.uint8)


def labels_of(labels: Labels, split: int) -> Labels:
    """The labels of a split: TRAINING, VALIDATION or TEST. Those to measure on have the exact scores of all moves.

    Raises:
        ValueError: there are none.
    """
    is_one = splits_of(labels.positions, labels.masks) == split
    chosen = labels.take(np.flatnonzero(is_one if split == TRAINING else is_one & labels.whole))
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
        raise ValueError(f"no labels in {path}: {shell('train labels')} makes them, and --labels names them")
    return concatenate_labels([read_file(path)[0], opening_labels()])


TABLE_BITS = 22  # log2 of the entries of each process's table: 32 MiB
FILE_GAMES = 150  # of a file; the last one has fewer
CHECKED, FEWEST = 300, 12  # of the labels that are read in, so many are checked, of those with so many stones


@dataclass
class Config(Options):
    """Options of ``train.py labels``."""

    METHOD = "labels"
    RESUMES = True

    games: int = option(30_000, "number of games to play, each of which gives about 10 positions", least=0)
    add: Path = option(Path(), "labels to add: an .npz of positions, masks and scores", reads=True)
    network: Path = option(WEIGHTS / "policy.bin", "network that chooses the moves that are not random", reads=True)
    open_lines: float = option(
        0.1, "share that is taken of the positions in which the next stone can make a line", least=0, most=1
    )
    seed: int = option(1, "random seed of the games", least=0)
    workers: int = option(os.cpu_count() or 1, "number of processes on this machine", least=1, is_free=True)
    scheduler: str = option("", "address of a dask cluster to use instead, such as tcp://10.0.0.1:8786", is_free=True)
    run: Path = option(Path("runs/labels"), "folder of the run")
    output: Path = option(Path(), "file to write: the labels", in_run="labels.labels")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.games and self.add == Path():
            raise ValueError("games should be at least 1, or add should name labels")

    @property
    def recipe(self) -> dict[str, Any]:
        """What the content of a file depends on besides its number and that of its games."""
        shares = {"random": list(ERROR_SHARES), "open": self.open_lines, "whole": WHOLE}
        taken = {str(stones): share for stones, share in TAKEN.items()}
        network = digest_of(self.network)
        return {"seed": self.seed, **shares, "taken": taken, "network": network}


@cache
def network_in(path: Path) -> MoveNetwork:
    return MoveNetwork.from_bytes(path.read_bytes())


def make(network: Path, seed: int, open_lines: float, file: tuple[int, int]) -> Labels:
    """The labels of a file, (number, games), in a worker."""
    solver, (number, games) = process_solver(), file
    solver.clear()
    return labelled_games(games, np.random.default_rng((seed, number)), solver, network_in(network), open_lines)


def labels_in(path: Path, seed: int) -> Labels:
    """Labels that somebody else made, of which the solver checks some.

    Args:
        path: an .npz of "positions" and "masks", (n,) int64, and "scores", (n, columns) int8, as ``Labels`` has them.

    Raises:
        ValueError: it is none, a position cannot come up, or what is said of a move is not so.
        OSError: it cannot be read.
    """
    content = io.BytesIO(path.read_bytes())
    try:
        with np.load(content, allow_pickle=False) as arrays:
            labels = Labels(*(arrays[name] for name in ("positions", "masks", "scores")))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as fault:
        raise ValueError(f"{path}: an .npz with positions, masks and scores was expected ({fault})") from None
    count = len(labels.masks)
    kinds = [(array.shape, array.dtype) for array in labels]
    if kinds != [((count,), np.int64), ((count,), np.int64), ((count, STANDARD.columns), np.int8)]:
        raise ValueError(f"{path}: positions and masks (n,) int64 and scores (n, 7) int8 were expected, not {kinds}")
    stones, masks = stones_of(key_of(labels.positions, labels.masks), STANDARD)
    has_move = moves_of(labels.masks, STANDARD) != 0
    is_one = (stones == labels.positions) & (masks == labels.masks) & (has_move == labels.legal).all(1)
    if not is_one.all():
        raise ValueError(f"{path}: row {is_one.argmin()} is no position, or has scores of full columns")
    solver, rows = Solver(STANDARD, TABLE_BITS), np.flatnonzero(labels.plies >= FEWEST)
    chosen = labels.take(np.random.default_rng(seed).permutation(rows)[:CHECKED])
    with progress(len(chosen), "label", f"checking {path.name}") as bar:
        for stones, mask, scores, exact in zip(*chosen, chosen.exact, strict=True):
            values = move_values(Position(int(stones), int(mask), STANDARD), solver)
            truth = np.array([stored(value) for value in values])
            bounds = (scores + BOUND >= truth) & (truth < truth.max())
            if not np.where(exact | (truth == NO_MOVE), scores == truth, bounds).all():
                raise ValueError(f"{path}: the scores of moves are {truth.tolist()}, not {scores.tolist()}")
            bar.update()
    return labels


def files_of(config: Config) -> tuple[list[Path], list[tuple[int, int]]]:
    """The files that the run consists of, and those of them that are missing or have too few games: (number, games).

    Raises:
        ValueError: one that is there is of another recipe, or damaged.
    """
    sizes = [min(FILE_GAMES, config.games - first) for first in range(0, config.games, FILE_GAMES)]
    files = [config.run / "games" / f"{number:05}{LABELS_SUFFIX}" for number in range(len(sizes))]
    missing = list[tuple[int, int]]()
    for number, (path, games) in enumerate(zip(files, sizes, strict=True)):
        made_as = read_file(path)[1] if path.exists() else config.recipe | {"games": 0}
        if made_as != config.recipe | {"games": made_as.get("games")}:
            raise ValueError(f"{config.run} holds labels of {made_as}, not of {config.recipe}: choose another --run")
        if made_as["games"] < games:
            missing.append((number, games))
    return files, missing


def train(config: Config) -> dict[str, Any]:
    """Makes the files that are missing, then the one of all labels."""
    check_folder(config.output, is_made=True)
    added = [labels_in(config.add, config.seed)] if config.add != Path() else []
    with file_lock(config.run / "games", words=f"another process makes the labels of {config.run}"):
        files, missing = files_of(config)
        bar_of = partial(progress, len(files), "file", done=len(files) - len(missing), delay=0)
        with solver_pool(config.workers, TABLE_BITS, config.scheduler) as pool, bar_of() as bar:
            making = partial(make, config.network, config.seed, config.open_lines)
            for (number, games), labels in pool.map_unordered(making, missing):
                write_labels(files[number], labels, config.recipe | {"games": games})
                bar.update()
    labels = concatenate_labels([*(read_file(path)[0] for path in files), *added])
    counts = np.bincount(splits_of(labels.positions, labels.masks), minlength=3).tolist()
    facts = {"positions": len(labels), **dict(zip(("training", "validation", "test"), counts, strict=True))}
    told = f"{labels.whole.sum():,} with the score of every move, {counts[0]:,} to learn from"
    score = f"{len(labels):,} positions: {told}"
    publish(config, labels_to_bytes(labels, config.recipe | {"of": config.games}), facts, score)
    return facts
