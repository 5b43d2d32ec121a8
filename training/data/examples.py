"""Exact labels as examples for a network: what it sees, and its targets, kept on the device that trains it.

A network that judges positions sees each labelled one. A network that judges moves sees what the moves lead to that do
not lose at once (``connectx.afterstates``): some five positions for each label, whose exact values are known, too.
Where the rules alone choose the move there is nothing to learn, so that such labels are left out.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from connectx.afterstates import NEVER, afterstates
from connectx.encoding import bits_of, planes_of, unpack_planes
from connectx.geometry import STANDARD
from connectx.nets import MOVES, Architecture
from connectx.score import plies_to_end_table
from training.data.shards import Labels

CPU = torch.device("cpu")
ENCODED_AT_ONCE = 100_000  # positions; unpacked they take 400 bytes each
MULTIPLE = 128  # of what a network sees at once: for each size that comes up torch makes kernels, in up to 10 ms
CLASSES = 3  # loss, draw, win


class Targets(NamedTuple):
    """The targets of a network for n positions, of which it judges m: themselves, or those after their moves."""

    kept: Tensor  # (n, columns) bool
    perfect: Tensor  # (n, columns) bool
    legal: Tensor  # (n, columns) bool: the moves that the network chooses among
    value: Tensor  # (m,) int64: 0 loss, 1 draw, 2 win
    distance: Tensor  # (m,) float32: plies to the end of perfect play, as a share of the board's cells
    results: Tensor  # (n, columns) int64, of each move, coded as in value
    places: Tensor | None = None  # (m,) int64: n * columns places, that of each move; None where positions are judged

    def policy(self, outputs: dict[str, Tensor]) -> Tensor:
        """The logits of all columns, (n, columns); of moves that are not among the legal ones a very small number."""
        if self.places is None:
            return outputs["policy"].masked_fill(~self.legal, NEVER)
        nothing = torch.full((self.legal.numel(),), NEVER, device=self.legal.device)
        return nothing.scatter(0, self.places, outputs["move"][:, 0]).view_as(self.legal)


def classes(scores: np.ndarray) -> np.ndarray:
    """The class of each score: 0 loss, 1 draw, 2 win, int64."""
    return np.sign(scores).astype(np.int64) + 1


def distances(scores: np.ndarray, plies: np.ndarray) -> np.ndarray:
    """Plies to the end of perfect play as a share of the cells, (n,) float32, from scores and stones, (n,) each."""
    cells = STANDARD.cells
    return (plies_to_end_table(cells)[plies, scores.astype(int) + cells] / cells).astype(np.float32)


class Encoded:
    """m encoded positions, eight cells to a byte: what a network has seen need not be unpacked in between."""

    def __init__(self, positions: np.ndarray, masks: np.ndarray, encoding: str, device: torch.device):
        self.shape = (planes_of(encoding), STANDARD.rows, STANDARD.columns)
        self.packed = torch.from_numpy(np.concatenate(list(self._packed(positions, masks, encoding)))).to(device)
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
        self.table = torch.from_numpy(bits).to(device, torch.float32)

    @staticmethod
    def _packed(positions, masks, encoding):
        for start in range(0, max(1, len(masks)), ENCODED_AT_ONCE):
            part = slice(start, start + ENCODED_AT_ONCE)
            planes = unpack_planes(bits_of(positions[part], masks[part], STANDARD, encoding), STANDARD)
            yield np.packbits(planes.reshape(len(planes), -1), axis=1, bitorder="little")

    def planes(self, rows: Tensor, mirrored: bool) -> Tensor:
        """(rows, planes, rows, columns) float32 of 0 and 1."""
        cells = functional.embedding(self.packed[rows].int(), self.table).flatten(1)
        planes = cells[:, : int(np.prod(self.shape))].unflatten(1, self.shape)
        return planes.flip(3) if mirrored else planes


class Examples:
    """Labelled positions and their targets, ready for a network of an architecture."""

    def __init__(self, labels: Labels, architecture: Architecture, device: torch.device = CPU):
        seen_positions, seen_masks, legal, scores = labels.positions, labels.masks, labels.legal, labels.values
        self.starts = self.columns = None
        if architecture.judges == MOVES:
            labels = choices_of(labels)
            if not len(labels):
                raise ValueError("too few labels: none of them leaves a choice")
            states = afterstates(labels.positions, labels.masks, STANDARD)
            seen_positions, seen_masks, legal = states.positions, states.masks, np.zeros_like(labels.legal)
            legal[states.rows, states.columns] = True
            scores = -labels.scores[states.rows, states.columns]
            starts = np.searchsorted(states.rows, np.arange(len(labels) + 1))
            self.starts, self.columns = (torch.from_numpy(part).to(device) for part in (starts, states.columns))
        self.labels, self.device = labels, device
        self.seen = Encoded(seen_positions, seen_masks, architecture.encoding, device)
        self.targets = Targets(
            kept=torch.from_numpy(labels.kept).to(device),
            perfect=torch.from_numpy(labels.perfect).to(device),
            legal=torch.from_numpy(legal).to(device),
            value=torch.from_numpy(classes(scores)).to(device),
            distance=torch.from_numpy(distances(scores, np.bitwise_count(seen_masks))).to(device),
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
        of_seen = {name: getattr(self.targets, name)[seen] for name in ("value", "distance")}
        planes = self.seen.planes(functional.pad(seen, (0, -len(seen) % MULTIPLE)), mirrored)
        return planes, Targets(**parts, **of_seen, places=places)

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


def choices_of(labels: Labels) -> Labels:
    """The labels of positions where nobody wins with this move and two or more moves do not lose at once."""
    states = afterstates(labels.positions, labels.masks, STANDARD)
    return labels.take(np.flatnonzero(np.bincount(states.rows, minlength=len(labels)) >= 2))
