"""Labels positions with the exact score of every move, which is what the networks learn from; stores and splits them.

A file of labels is a container of connectx.weights with its recipe. It holds a position or its mirror image once, by
its key, and leaves out the scores that a look at the board gives: full columns, moves that win at once, and moves after
which the other side does. LZMA then makes some 5 bytes of a position with all its scores.

The positions are those of games of five kinds, from random to near-perfect, in which a move has to be chosen (see
training/positions.py). Our own solver scores them, some 200 a second on a core. All positions of the first eight
plies come besides, from the table of openings, whenever labels are read.

The run's folder keeps a file for every 150 games. An interrupted run goes on from there, more games add to those that
are there, and the same seed gives the same labels for any number of processes and machines.
"""

import lzma
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx.books import openings
from connectx.position import NO_MOVE, STANDARD, key_of, open_cells, stones_of, winning_spots
from connectx.weights import pack, unpack
from connectx_toolkit.system.console import progress
from connectx_toolkit.system.files import check_folder, write_whole
from connectx_toolkit.training.options import Options, option
from connectx_toolkit.training.positions import FIRST, canonical_keys, moves_of, sample, score_moves
from connectx_toolkit.training.runs import process_solver, publish, solver_pool

SUFFIX = ".labels"
TRAINING, VALIDATION, TEST = range(3)  # splits
HELD_OUT = {False: 64, True: 20}  # one in so many positions is for validation and one for test; True: below FEW stones
FEW = 18  # stones; there are fewer labels with fewer stones, so that a larger share is held out
SPLIT_FACTOR = 0x9E3779B97F4A7C15  # odd: 2^64 over the golden ratio, which spreads keys well (Knuth)
COLUMN = (1 << STANDARD.stride) - 1  # a column's bits
SHIFTS = STANDARD.stride * np.arange(STANDARD.columns)
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


class Labels(NamedTuple):
    """Positions and the exact score of every move, for the side to move. All arrays have n rows."""

    positions: np.ndarray  # (n,) int64, stones of the side to move
    masks: np.ndarray  # (n,) int64, stones of both
    scores: np.ndarray  # (n, columns) int8, NO_MOVE where the column is full

    def __len__(self) -> int:
        return len(self.masks)

    def take(self, rows: np.ndarray) -> "Labels":
        return Labels(*(array[rows] for array in self))

    @property
    def plies(self) -> np.ndarray:
        """(n,) stones on the board."""
        return np.bitwise_count(self.masks)

    @property
    def values(self) -> np.ndarray:
        """(n,) int8, the exact score of each position, which is that of its best moves."""
        return self.scores.max(1)

    @property
    def legal(self) -> np.ndarray:
        """(n, columns) bool."""
        return self.scores != NO_MOVE

    @property
    def good(self) -> np.ndarray:
        """(n, columns) bool: the moves that keep the result (win, draw or loss)."""
        return self.legal & (np.sign(self.scores) == np.sign(self.values)[:, None])

    @property
    def perfect(self) -> np.ndarray:
        """(n, columns) bool: the moves with the best score: quickest wins, draws, or slowest losses."""
        return self.scores == self.values[:, None]

    @property
    def critical(self) -> np.ndarray:
        """(n,) bool: whether some legal move does not keep the result."""
        return (self.legal & ~self.good).any(1)


def concatenated(parts: Sequence[Labels]) -> Labels:
    """The labels of all parts, of which there may be none; each position or its mirror image once, by their keys."""
    nothing = Labels(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, STANDARD.columns), np.int8))
    labels = Labels(*(np.concatenate(arrays) for arrays in zip(nothing, *parts, strict=True)))
    _, first = np.unique(canonical_keys(labels.positions, labels.masks), return_index=True)
    return labels.take(first)


def splits_of(positions: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """TRAINING, VALIDATION or TEST, for each position by its key: (n,) uint8. Mirror images share a split."""
    keys = canonical_keys(positions, masks).astype(np.uint64)
    spread = (keys * np.uint64(SPLIT_FACTOR)) >> np.uint64(40)
    drawn = spread % np.where(np.bitwise_count(masks) < FEW, HELD_OUT[True], HELD_OUT[False])
    return np.select([drawn == 0, drawn == 1], [TEST, VALIDATION], TRAINING).astype(np.uint8)


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


def scores_at_sight(positions: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scores that need no search, (n, columns) int8, and which moves they leave out, (n, columns) bool.

    Known are full columns, moves that win at once, and others after which the other side does.
    """
    moves = moves_of(masks, STANDARD)
    wins = winning_spots(positions, masks, STANDARD)[:, None] & moves != 0
    after = masks[:, None] | moves
    replies = winning_spots((positions ^ masks)[:, None], after, STANDARD) & open_cells(after, STANDARD) != 0
    empty = STANDARD.cells - np.bitwise_count(masks).astype(np.int64)[:, None]
    scores = np.select([moves == 0, wins, replies], [NO_MOVE, (empty + 1) // 2, -(empty // 2)], 0).astype(np.int8)
    return scores, (moves != 0) & ~wins & ~replies


def _squeezed(numbers: np.ndarray) -> np.ndarray:
    return np.frombuffer(lzma.compress(numbers.tobytes(), lzma.FORMAT_RAW, filters=FILTERS), np.uint8)


def _expanded(content: np.ndarray, dtype: str) -> np.ndarray:
    return np.frombuffer(lzma.decompress(content.tobytes(), lzma.FORMAT_RAW, filters=FILTERS), dtype)


def to_bytes(labels: Labels, recipe: Any) -> bytes:
    """The file of these labels. ``recipe``: any JSON; labels of another recipe are not mixed with them.

    A column's 7 bits of a key plus its lowest cell are its stones below a guard: they give its height, too.
    """
    labels = concatenated([labels])
    keys = key_of(labels.positions, labels.masks)
    columns = ((keys + STANDARD.bottom_mask) >> SHIFTS[:, None]) & COLUMN
    searched = scores_at_sight(labels.positions, labels.masks)[1]
    return pack({"columns": _squeezed(columns.astype(np.uint8)), "scores": _squeezed(labels.scores[searched])}, recipe)


def from_bytes(content: bytes) -> tuple[Labels, Any]:
    """The labels of a file and their recipe. Raises ValueError if it is damaged or something else."""
    arrays, recipe = unpack(content)
    try:
        columns = _expanded(arrays["columns"], "uint8").reshape(STANDARD.columns, -1).astype(np.int64)
        positions, masks = stones_of((columns << SHIFTS[:, None]).sum(0) - STANDARD.bottom_mask, STANDARD)
        scores, searched = scores_at_sight(positions, masks)
        scores[searched] = _expanded(arrays["scores"], "int8")
    except (KeyError, lzma.LZMAError) as fault:
        raise ValueError(f"it is something else ({fault!r})") from None
    return Labels(positions, masks, scores), recipe


def write_labels(path: Path, labels: Labels, recipe: Any) -> None:
    write_whole(path, to_bytes(labels, recipe))


def read_file(path: Path) -> tuple[Labels, Any]:
    """The labels in a file and their recipe.

    Raises:
        ValueError: the file is damaged or contains something else.
        OSError: it cannot be read.
    """
    try:
        return from_bytes(path.read_bytes())
    except ValueError as fault:
        raise ValueError(f"{path} is not a file of labels: {fault}") from None


def read_labels(path: Path) -> Labels:
    """What networks learn from: the labels of a file, and those of all positions of plies 0 to 7.

    Raises:
        ValueError: there is no such file, or it is no file of labels.
    """
    if not path.is_file():
        raise ValueError(f"no labels in {path}: python train.py labels makes them")
    return concatenated([read_file(path)[0], opening_labels()])


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
    score = f"{len(labels):,} positions with exact scores, {counts[0]:,} to learn from"
    publish(config, to_bytes(labels, config.recipe | {"of": config.games}), facts, score)
    return facts
