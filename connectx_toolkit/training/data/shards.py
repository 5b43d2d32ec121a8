"""Labels: positions of 7x6 with the exact score of every move, as training data; how they are stored and split.

Labels are stored in shards: containers of connectx.weights that also hold the recipe that made them; or packed, see
``connectx_toolkit.training.data.packed``. Mirror images count as equal; duplicates are dropped when labels are read.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx.geometry import STANDARD, Geometry
from connectx.openings import openings
from connectx.position import key_of, mirror_bits
from connectx.score import NO_MOVE
from connectx.weights import pack, unpack
from connectx_toolkit.console.files import write_whole
from connectx_toolkit.training.data.book_scores import read_scores
from connectx_toolkit.training.data.packed import unpack_labels

# Origins: how the game was played, or where else a position comes from.
RANDOM_PLAY, NEAR_PERFECT_PLAY, BOOK, OPENING, HALF_RANDOM_PLAY, CAREFUL_PLAY, AGENTS_PLAY, HARD_PLAY = range(8)
TRAINING, VALIDATION, TEST = range(3)  # splits
HELD_OUT = {False: 64, True: 20}  # one in so many positions is for validation and one for test; True: below FEW stones
FEW = 18  # stones; there are fewer labels with fewer stones, so that a larger share is held out
SPLIT_FACTOR = 0x9E3779B97F4A7C15  # odd: 2^64 over the golden ratio, which spreads keys well (Knuth)


class Labels(NamedTuple):
    """Positions and the exact score of every move, for the side to move. All arrays have n rows."""

    positions: np.ndarray  # (n,) int64, stones of the side to move
    masks: np.ndarray  # (n,) int64, stones of both
    scores: np.ndarray  # (n, columns) int8, NO_MOVE where the column is full
    origins: np.ndarray  # (n,) uint8: RANDOM_PLAY and so on

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
    def kept(self) -> np.ndarray:
        """(n, columns) bool: the moves that keep the result (win, draw or loss)."""
        return self.legal & (np.sign(self.scores) == np.sign(self.values)[:, None])

    @property
    def perfect(self) -> np.ndarray:
        """(n, columns) bool: the moves with the best score: quickest wins, draws, or slowest losses."""
        return self.scores == self.values[:, None]

    @property
    def decisive(self) -> np.ndarray:
        """(n,) bool: whether some legal move does not keep the result."""
        return (self.legal & ~self.kept).any(1)


def concatenated(parts: Sequence[Labels]) -> Labels:
    """The labels of all parts, of which there may be none."""
    stones, scores = np.empty(0, np.int64), np.empty((0, STANDARD.columns), np.int8)
    nothing = Labels(stones, stones, scores, np.empty(0, np.uint8))
    return Labels(*(np.concatenate(arrays) for arrays in zip(nothing, *parts, strict=True)))


def canonical_keys(positions: np.ndarray, masks: np.ndarray, geometry: Geometry) -> np.ndarray:
    """A number for each position, which only its mirror image has, too: (n,) int64."""
    mirrored = key_of(mirror_bits(positions, geometry), mirror_bits(masks, geometry))
    return np.minimum(key_of(positions, masks), mirrored)


def splits_of(positions: np.ndarray, masks: np.ndarray, geometry: Geometry = STANDARD) -> np.ndarray:
    """TRAINING, VALIDATION or TEST, for each position by its key: (n,) uint8. Mirror images share a split."""
    keys = canonical_keys(positions, masks, geometry).astype(np.uint64)
    spread = (keys * np.uint64(SPLIT_FACTOR)) >> np.uint64(40)
    drawn = spread % np.where(np.bitwise_count(masks) < FEW, HELD_OUT[True], HELD_OUT[False])
    return np.select([drawn == 0, drawn == 1], [TEST, VALIDATION], TRAINING).astype(np.uint8)


def labels_of(labels: Labels, split: int) -> Labels:
    """The labels of a split: TRAINING, VALIDATION or TEST. Raises ValueError if there are none."""
    chosen = labels.take(np.flatnonzero(splits_of(labels.positions, labels.masks) == split))
    if not len(chosen):
        raise ValueError("too few labels: a split is empty")
    return chosen


def book_labels(path: Path) -> Labels:
    """The labels in the opening book's file of scores, each once.

    Raises:
        ValueError: the file does not exist, is empty, or contains something else.
    """
    scores_of = read_scores(path) if path.exists() else {}
    known = [(position, scores) for position, scores in scores_of.items() if not position.is_over()]
    if not known:
        raise ValueError(f"no scores in {path}: python train.py book makes them, --book-scores names another file")
    states = [position for position, _ in known]
    scores = [[NO_MOVE if score is None else score for score in of_moves] for _, of_moves in known]
    positions, masks = (np.array([state[part] for state in states], np.int64) for part in (0, 1))
    return Labels(positions, masks, np.array(scores, np.int8), np.full(len(states), BOOK, np.uint8))


def opening_labels() -> Labels:
    """Labels of all positions of plies 0 to 7, mirror images counted once, from the table of openings: 38,203."""
    plies = list(openings().scores_by_ply())
    positions, masks = (np.concatenate(parts) for parts in zip(*(layer for layer, _ in plies), strict=True))
    scores = np.concatenate([scores for _, scores in plies])
    return Labels(positions, masks, scores, np.full(len(masks), OPENING, np.uint8))


def write_shard(path: Path, labels: Labels, recipe: dict[str, Any]) -> None:
    write_whole(path, pack(labels._asdict(), recipe))


def read_shard(path: Path) -> tuple[Labels, dict[str, Any]]:
    """The labels in one file, a shard or packed ones, and its recipe.

    Raises:
        ValueError: the file is damaged or contains something else.
    """
    try:
        arrays, recipe = (unpack_labels if path.suffix == ".labels" else unpack)(path.read_bytes())
        return Labels(**arrays), recipe
    except (ValueError, TypeError) as fault:
        raise ValueError(f"{path} is no shard of labels: {fault}") from None


def read_labels(folder: Path) -> Labels:
    """All labels in a folder and its subfolders, each position or its mirror image once, in the order of the keys.

    Of packed ones only those that hold positions are read: scores alone have to become shards first.

    Raises:
        ValueError: there are none, or a file is damaged.
    """
    shards = [read_shard(path)[0] for form in ("shard", "labels") for path in sorted(folder.rglob(f"*.{form}"))]
    if not shards:
        raise ValueError(f"no labels in {folder}: python train.py labels makes them")
    labels = concatenated(shards)
    _, first = np.unique(canonical_keys(labels.positions, labels.masks, STANDARD), return_index=True)
    return labels.take(first)
