"""Exact labels as examples for a network: what it sees, and its targets, kept on the device that trains it.

A network that judges positions sees each labelled one. A network that judges replies sees what the moves and forced
replies lead to whose results the rules do not know (``connectx.nets.afterstates``): some five positions for each label,
whose exact scores are known, too. Where the rules alone choose the move there is nothing to learn, so that such labels
are left out.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from connectx.geometry import STANDARD
from connectx.nets.afterstates import NEVER, Afterstates, afterstates, scores_of
from connectx.nets.encoding import bits_of, encode_many, planes_of, unpack_planes
from connectx.nets.network import REPLIES, Architecture
from connectx.position import stones_of
from connectx_toolkit.training.data.bounds import Bounds
from connectx_toolkit.training.data.shards import Labels

CPU = torch.device("cpu")
ENCODED_AT_ONCE = 5000  # positions, in the cache: 100,000 at once take 2.5 times as long
MULTIPLE = 128  # of what a network sees at once: for each size that comes up torch makes kernels, in up to 10 ms
CLASSES = 3  # loss, draw, win
SCORES = len(scores_of(STANDARD))
LARGEST = SCORES // 2  # of the scores


class Targets(NamedTuple):
    """The targets of a network for n positions, of which it judges m: themselves, or those after their moves."""

    kept: Tensor  # (n, columns) bool
    perfect: Tensor  # (n, columns) bool
    legal: Tensor  # (n, columns) bool: the moves that the network chooses among
    score: Tensor  # (m,) int64: the exact score, plus LARGEST
    results: Tensor  # (n, columns) int64, of each move: 0 loss, 1 draw, 2 win
    places: Tensor | None = None  # (m,) int64: n * columns places, that of each move; None where positions are judged
    is_own: Tensor | None = None  # (m,) bool, as in connectx.nets.afterstates

    @property
    def value(self) -> Tensor:
        """(m,) int64: 0 loss, 1 draw, 2 win."""
        return torch.sign(self.score - LARGEST) + 1

    def policy(self, outputs: dict[str, Tensor]) -> Tensor:
        """The logits of all columns, (n, columns); of moves that are not among the legal ones a very small number."""
        if self.places is None or self.is_own is None:
            return outputs["policy"].masked_fill(~self.legal, NEVER)
        moves = torch.where(self.is_own, -outputs["move"][:, 0], outputs["move"][:, 0])
        nothing = torch.full((self.legal.numel(),), NEVER, device=self.legal.device)
        return nothing.scatter(0, self.places, moves).view_as(self.legal)

    def chances_of_moves(self, chances: Tensor) -> Tensor:
        """(n, columns, SCORES): as ``afterstates.chances_of_moves``; of moves not asked for the least score.

        Args:
            chances: of the scores of the side to move in the m positions, (m, SCORES).
        """
        assert self.places is not None and self.is_own is not None
        moves = torch.zeros(self.legal.numel(), SCORES, device=chances.device)
        moves[:, 0] = 1
        moves[self.places] = torch.where(self.is_own[:, None], chances, chances.flip(1))
        return moves.view(*self.legal.shape, SCORES)


def classes(scores: np.ndarray) -> np.ndarray:
    """The class of each score: 0 loss, 1 draw, 2 win, int64."""
    return np.sign(scores).astype(np.int64) + 1


class Encoded:
    """m encoded positions, eight cells to a byte: what a network has seen need not be unpacked in between."""

    def __init__(self, positions: np.ndarray, masks: np.ndarray, encoding: str, device: torch.device):
        self.shape = (planes_of(encoding), STANDARD.rows, STANDARD.columns)
        packed = np.empty((len(masks), -(-int(np.prod(self.shape)) // 8)), np.uint8)

        def pack(start: int) -> None:
            part = slice(start, start + ENCODED_AT_ONCE)
            planes = unpack_planes(bits_of(positions[part], masks[part], STANDARD, encoding), STANDARD)
            packed[part] = np.packbits(planes.reshape(len(planes), -1), axis=1, bitorder="little")

        with ThreadPoolExecutor() as pool:  # numpy computes outside the interpreter's lock
            list(pool.map(pack, range(0, len(masks), ENCODED_AT_ONCE)))
        self.packed = torch.from_numpy(packed).to(device)
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
        self.table = torch.from_numpy(bits).to(device, torch.float32)

    def planes(self, rows: Tensor, mirrored: bool) -> Tensor:
        """(rows, planes, rows, columns) float32 of 0 and 1."""
        cells = functional.embedding(self.packed[rows].int(), self.table).flatten(1)
        planes = cells[:, : int(np.prod(self.shape))].unflatten(1, self.shape)
        return planes.flip(3) if mirrored else planes


class BoundedScores(NamedTuple):
    """Intervals that contain the scores of n positions, both ends plus LARGEST."""

    lows: Tensor  # (n,) int64
    highs: Tensor  # (n,) int64


class BoundedExamples:
    """Positions with proven bounds, for a network of an encoding, which sees them themselves.

    They are encoded when a batch takes them: kept encoded, a hundred million would fill 11 GB.
    """

    def __init__(self, bounds: Bounds, encoding: str, device: torch.device = CPU):
        self.bounds, self.encoding, self.device = bounds, encoding, device
        self.pool = ThreadPoolExecutor()  # numpy computes outside the interpreter's lock

    def __len__(self) -> int:
        return len(self.bounds)

    def batch(self, rows: np.ndarray, mirrored: bool = False) -> tuple[Tensor, BoundedScores]:
        """What the network sees of these examples, (n, planes, rows, columns) float32, and the targets."""
        taken = self.bounds.take(rows)
        parts = [taken.keys[start : start + ENCODED_AT_ONCE] for start in range(0, len(rows), ENCODED_AT_ONCE)]
        planes = torch.from_numpy(np.concatenate(list(self.pool.map(self._encode, parts)))).to(self.device)
        ends = (torch.from_numpy(ends.astype(np.int64) + LARGEST).to(self.device) for ends in taken[1:])
        return (planes.flip(3) if mirrored else planes).float(), BoundedScores(*ends)

    def _encode(self, keys: np.ndarray) -> np.ndarray:
        positions, masks = stones_of(keys, STANDARD)
        return encode_many(positions, masks, STANDARD, self.encoding)


class Examples:
    """Labelled positions and their targets, ready for a network of an architecture."""

    def __init__(self, labels: Labels, architecture: Architecture, device: torch.device = CPU):
        seen_positions, seen_masks, legal, scores = labels.positions, labels.masks, labels.legal, labels.values
        self.starts = self.columns = self.is_own = None
        if architecture.judges == REPLIES:
            labels, states = choices_of(labels)
            if not len(labels):
                raise ValueError("too few labels: none of them leaves a choice")
            seen_positions, seen_masks, legal = states.positions, states.masks, np.zeros_like(labels.legal)
            legal[states.rows, states.columns] = True
            scores = labels.scores[states.rows, states.columns]
            scores = np.where(states.is_own, scores, -scores)
            starts = np.searchsorted(states.rows, np.arange(len(labels) + 1))
            self.starts, self.columns, self.is_own = (
                torch.from_numpy(part).to(device) for part in (starts, states.columns, states.is_own)
            )
        self.labels, self.device = labels, device
        self.seen = Encoded(seen_positions, seen_masks, architecture.encoding, device)
        self.targets = Targets(
            kept=torch.from_numpy(labels.kept).to(device),
            perfect=torch.from_numpy(labels.perfect).to(device),
            legal=torch.from_numpy(legal).to(device),
            score=torch.from_numpy(scores.astype(np.int64) + LARGEST).to(device),
            results=torch.from_numpy(classes(labels.scores)).to(device),
        )

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, rows: np.ndarray, mirrored: bool = False) -> tuple[Tensor, Targets]:
        """What the network sees of these examples, (m, planes, rows, columns) float32, and the targets.

        More is seen than has targets, so that the number is a multiple of ``MULTIPLE``; ``outputs_of`` leaves it out.
        """
        taken = torch.from_numpy(rows).to(self.device)
        seen, places = (taken, None) if self.starts is None else self._moves(taken, mirrored)
        by_column = ("kept", "perfect", "legal", "results")
        parts = {name: getattr(self.targets, name)[taken] for name in by_column}
        if mirrored:
            parts = {name: part.flip(1) for name, part in parts.items()}
        is_own = None if self.is_own is None else self.is_own[seen]
        planes = self.seen.planes(functional.pad(seen, (0, -len(seen) % MULTIPLE)), mirrored)
        return planes, Targets(**parts, score=self.targets.score[seen], places=places, is_own=is_own)

    def _moves(self, rows: Tensor, mirrored: bool) -> tuple[Tensor, Tensor]:
        """Which of the positions after moves belong to these examples, and the place of each move among them."""
        assert self.starts is not None and self.columns is not None
        first = self.starts[rows]
        counts = self.starts[rows + 1] - first
        which = torch.repeat_interleave(torch.arange(len(rows), device=self.device), counts)
        before = torch.cumsum(counts, 0) - counts
        seen = torch.arange(len(which), device=self.device) + (first - before)[which]
        columns, last = self.columns[seen], STANDARD.columns - 1
        return seen, which * STANDARD.columns + (last - columns if mirrored else columns)


def choices_of(labels: Labels) -> tuple[Labels, Afterstates]:
    """The labels of positions with two or more moves whose results the rules do not know, and no known win; and what
    these moves lead to.
    """
    states = afterstates(labels.positions, labels.masks, STANDARD)
    chosen = np.bincount(states.rows, minlength=len(labels)) >= 2
    asked = chosen[states.rows]
    of_moves = {name: getattr(states, name)[asked] for name in ("columns", "positions", "masks", "is_own", "proven")}
    of_positions = {name: getattr(states, name)[chosen] for name in ("scores", "blocks")}
    rows = (np.cumsum(chosen) - 1)[states.rows[asked]]
    return labels.take(np.flatnonzero(chosen)), Afterstates(rows=rows, **of_moves, **of_positions)
