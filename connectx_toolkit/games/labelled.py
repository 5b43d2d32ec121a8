"""Positions with the exact score of every move, and the files that hold them.

A file of labels is a container of connectx_core.weights with its recipe. It holds a position or its mirror image once,
by its key, and leaves out the scores that a look at the board gives: full columns, moves that win at once, and moves
after which the other side does. LZMA then makes some 5 bytes of a position with all its scores.
"""

import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx_core.books import openings
from connectx_core.position import (
    NO_MOVE,
    STANDARD,
    Geometry,
    Position,
    key_of,
    mirror_bits,
    open_cells,
    stones_of,
    winning_spots,
)
from connectx_core.solver import Solver
from connectx_core.weights import pack, unpack
from connectx_toolkit.games.known_scores import KnownScores
from connectx_toolkit.system.files import write_whole

LABELS_SUFFIX = ".labels"
KEY_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd: 2^64 over the golden ratio, which spreads keys well (Knuth)
COLUMN = (1 << STANDARD.stride) - 1  # a column's bits
SHIFTS = STANDARD.stride * np.arange(STANDARD.columns)
LEAST_SCORE = -((STANDARD.cells + 1) // 2)  # of all exact scores
BOUND = 64  # an upper bound is stored less so much: below every exact score, above NO_MOVE
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


class Labels(NamedTuple):
    """Positions and the scores of their moves, for the side to move. All arrays have n rows.

    The best moves have their exact score. Of another move it may be known only that it is worse: then its score is an
    upper bound, less ``BOUND``.
    """

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
    def exact(self) -> np.ndarray:
        """(n, columns) bool: the moves of which the exact score is known."""
        return self.scores >= LEAST_SCORE

    @property
    def good(self) -> np.ndarray:
        """(n, columns) bool: the moves that keep the result (win, draw or loss), as far as ``sure`` says."""
        at_most = np.where(self.exact, self.scores, self.scores + BOUND)
        return self.legal & (np.sign(at_most) == np.sign(self.values)[:, None])

    @property
    def whole(self) -> np.ndarray:
        """(n,) bool: whether the exact scores of all moves are known."""
        return (self.exact | ~self.legal).all(1)

    @property
    def sure(self) -> np.ndarray:
        """(n,) bool: whether it is known of all moves if they keep the result; in others some bound allows a win."""
        return ~(self.legal & ~self.exact & (self.scores + BOUND > 0)).any(1)

    @property
    def perfect(self) -> np.ndarray:
        """(n, columns) bool: the moves with the best score: quickest wins, draws, or slowest losses."""
        return self.scores == self.values[:, None]

    @property
    def critical(self) -> np.ndarray:
        """(n,) bool: whether some legal move does not keep the result."""
        return (self.legal & ~self.good).any(1)


def concatenate_labels(parts: Sequence[Labels]) -> Labels:
    """The labels of all parts, of which there may be none; each position or its mirror image once, by their keys."""
    nothing = Labels(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, STANDARD.columns), np.int8))
    labels = Labels(*(np.concatenate(arrays) for arrays in zip(nothing, *parts, strict=True)))
    _, first = np.unique(canonical_keys(labels.positions, labels.masks), return_index=True)
    return labels.take(first)


def canonical_keys(positions: np.ndarray, masks: np.ndarray, geometry: Geometry = STANDARD) -> np.ndarray:
    """A number for each position, which only its mirror image has, too: (n,) int64."""
    mirrored = key_of(mirror_bits(positions, geometry), mirror_bits(masks, geometry))
    return np.minimum(key_of(positions, masks), mirrored)


def spread_keys(positions: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Numbers in which positions are as if shuffled, the same for mirror images: (n,) uint64."""
    return canonical_keys(positions, masks).astype(np.uint64) * KEY_SPREAD


def moves_of(masks: np.ndarray, geometry: Geometry) -> np.ndarray:
    """The stone that each column would take: (n, columns) int64 of one bit each, 0 where the column is full."""
    columns = np.array([geometry.column_mask(column) for column in range(geometry.columns)])
    return open_cells(masks, geometry)[:, None] & columns


def score_moves(positions: np.ndarray, masks: np.ndarray, solver: Solver) -> np.ndarray:
    """The exact score of every move: (n, columns) int8, NO_MOVE where there is none. Nobody may have a line."""
    geometry = solver.geometry
    moves = moves_of(masks, geometry)
    wins = winning_spots(positions, masks, geometry)[:, None] & moves
    quickest = (geometry.cells + 1 - np.bitwise_count(masks).astype(np.int64)) // 2
    scores = np.where(wins != 0, quickest[:, None], NO_MOVE).astype(np.int8)
    rows, columns = np.nonzero((moves != 0) & (wins == 0))
    scores[rows, columns] = -solver.solve_many((positions ^ masks)[rows], masks[rows] | moves[rows, columns])[:, 0]
    return scores


def score_positions(positions: Sequence[Position], solver: Solver, store: KnownScores | None = None) -> Labels:
    """The positions, in their order, with the score of every move: by what is known, the others by the solver."""
    stones, masks = (np.array([position[part] for position in positions], np.int64) for part in (0, 1))
    known = [openings().scores(position) if store is None else store.whole(position) for position in positions]
    scores = np.array(
        [[NO_MOVE if one is None else one for one in row or [None] * STANDARD.columns] for row in known], np.int8
    )
    searched = np.array([row is None for row in known])
    scores[searched] = score_moves(stones[searched], masks[searched], solver)
    if store is not None:
        for row in np.flatnonzero(searched).tolist():
            store.add(positions[row], [None if score == NO_MOVE else score for score in scores[row].tolist()])
    return Labels(stones, masks, scores)


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


def _compress(numbers: np.ndarray) -> np.ndarray:
    return np.frombuffer(lzma.compress(numbers.tobytes(), lzma.FORMAT_RAW, filters=FILTERS), np.uint8)


def _decompress(content: np.ndarray, dtype: str) -> np.ndarray:
    return np.frombuffer(lzma.decompress(content.tobytes(), lzma.FORMAT_RAW, filters=FILTERS), dtype)


def labels_to_bytes(labels: Labels, recipe: Any) -> bytes:
    """The file of these labels. ``recipe``: any JSON; labels of another recipe are not mixed with them.

    A column's 7 bits of a key plus its lowest cell are its stones below a guard: they give its height, too.
    """
    labels = concatenate_labels([labels])
    keys = key_of(labels.positions, labels.masks)
    columns = ((keys + STANDARD.bottom_mask) >> SHIFTS[:, None]) & COLUMN
    searched = scores_at_sight(labels.positions, labels.masks)[1]
    return pack(
        {"columns": _compress(columns.astype(np.uint8)), "scores": _compress(labels.scores[searched])},
        recipe,
    )


def labels_from_bytes(content: bytes) -> tuple[Labels, Any]:
    """The labels of a file and their recipe. Raises ValueError if it is damaged or something else."""
    arrays, recipe = unpack(content)
    try:
        columns = _decompress(arrays["columns"], "uint8").reshape(STANDARD.columns, -1).astype(np.int64)
        positions, masks = stones_of((columns << SHIFTS[:, None]).sum(0) - STANDARD.bottom_mask, STANDARD)
        scores, searched = scores_at_sight(positions, masks)
        scores[searched] = _decompress(arrays["scores"], "int8")
    except (KeyError, lzma.LZMAError) as fault:
        raise ValueError(f"it is something else ({fault!r})") from None
    return Labels(positions, masks, scores), recipe


def write_labels(path: Path, labels: Labels, recipe: Any) -> None:
    write_whole(path, labels_to_bytes(labels, recipe))


def read_file(path: Path) -> tuple[Labels, Any]:
    """The labels in a file and their recipe.

    Raises:
        ValueError: the file is damaged or contains something else.
        OSError: it cannot be read.
    """
    try:
        return labels_from_bytes(path.read_bytes())
    except ValueError as fault:
        raise ValueError(f"{path} is not a file of labels: {fault}") from None
