"""Turns exact labels into examples for ``train.py network``: its inputs and targets, on the device that trains.

The network sees what the moves and forced replies lead to, where the rules do not know the result
(``connectx_core.afterstates``): some five positions for each label. Where the rules alone choose the move it has
nothing to learn.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from connectx_core.afterstates import NEVER, Afterstates, afterstates, logit_bonus, score_range
from connectx_core.encoding import bits_of, planes_of, unpack_planes
from connectx_core.position import STANDARD
from connectx_toolkit.games.labelled import Labels, canonical_keys

CPU = torch.device("cpu")
ENCODED_AT_ONCE = 5000  # positions, in the cache: 100,000 at once take 2.5 times as long
MULTIPLE = 128  # of what a network sees at once: for each size that comes up torch makes kernels, in up to 10 ms
SCORES = len(score_range(STANDARD))
LARGEST_SCORE = SCORES // 2  # of the scores


class ReplyTargets(NamedTuple):
    """The targets of a network for n positions, of which it judges the m after their moves and forced replies."""

    good: Tensor  # (n, columns) bool
    perfect: Tensor  # (n, columns) bool
    legal: Tensor  # (n, columns) bool: the moves that the network chooses among
    exact: Tensor  # (m,) bool: whether the score is known
    score: Tensor  # (m,) int64: the exact score, plus LARGEST_SCORE; 0 where there is none
    places: Tensor  # (m,) int64: n * columns places, that of each move
    is_own: Tensor  # (m,) bool, as in connectx_core.afterstates

    def policy(self, outputs: dict[str, Tensor]) -> Tensor:
        """The logits of all columns, (n, columns); of moves that are not among the legal ones a very small number."""
        moves = torch.where(self.is_own, -outputs["move"][:, 0], outputs["move"][:, 0])
        nothing = torch.full((self.legal.numel(),), NEVER, device=self.legal.device)
        return nothing.scatter(0, self.places, moves).view_as(self.legal)

    def known_scores(self, outputs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The logits of the k exact scores, (k, SCORES), and their classes, (k,)."""
        return outputs["score"][self.exact], self.score[self.exact]

    def worth(self, outputs: dict[str, Tensor]) -> np.ndarray:
        """(n, columns): what agents choose the largest of, but for mirror images."""
        chances = torch.softmax(outputs["score"], 1)
        moves = torch.zeros(self.legal.numel(), SCORES, device=chances.device)
        moves[:, 0] = 1
        moves[self.places] = torch.where(self.is_own[:, None], chances, chances.flip(1))
        bonus = logit_bonus(moves.view(*self.legal.shape, SCORES).cpu().numpy())
        return self.policy(outputs).cpu().numpy() + bonus


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


class ReplyExamples:
    """Labelled positions and their targets, ready for a network that judges replies and sees them in an encoding.

    Raises:
        ValueError: none of the labels leaves a choice.
    """

    def __init__(self, labels: Labels, encoding: str, device: torch.device = CPU):
        self.labels, states = choices_of(labels)
        if not len(self.labels):
            raise ValueError("too few labels: none of them leaves a choice")
        legal = np.zeros_like(self.labels.legal)
        legal[states.rows, states.columns] = True
        exact = self.labels.exact[states.rows, states.columns]
        scores = self.labels.scores[states.rows, states.columns].astype(np.int64)
        parts = {
            "good": self.labels.good & self.labels.sure[:, None],  # what is not sure teaches nothing
            "perfect": self.labels.perfect,
            "legal": legal,
            "exact": exact,
            "score": np.where(exact, np.where(states.is_own, scores, -scores) + LARGEST_SCORE, 0),
            "columns": states.columns,
            "is_own": states.is_own,
            "starts": np.searchsorted(states.rows, np.arange(len(self.labels) + 1)),
        }
        self.parts = {name: torch.from_numpy(part).to(device) for name, part in parts.items()}
        self.seen, self.device = Encoded(states.positions, states.masks, encoding, device), device

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, rows: np.ndarray, mirrored: bool = False) -> tuple[Tensor, ReplyTargets]:
        """What the network sees of these examples, (m, planes, rows, columns) float32, and the targets.

        More is seen than has targets, so that the number is a multiple of ``MULTIPLE``; ``head_outputs`` leaves it out.
        """
        taken = torch.from_numpy(rows).to(self.device)
        seen, places = self._moves(taken, mirrored)
        moves = {name: self.parts[name][taken] for name in ("good", "perfect", "legal")}
        if mirrored:
            moves = {name: part.flip(1) for name, part in moves.items()}
        planes = self.seen.planes(functional.pad(seen, (0, -len(seen) % MULTIPLE)), mirrored)
        return planes, ReplyTargets(
            **moves, **{name: self.parts[name][seen] for name in ("exact", "score", "is_own")}, places=places
        )

    def _moves(self, rows: Tensor, mirrored: bool) -> tuple[Tensor, Tensor]:
        """Which of the positions after moves belong to these examples, and the place of each move among them."""
        first = self.parts["starts"][rows]
        counts = self.parts["starts"][rows + 1] - first
        which = torch.repeat_interleave(torch.arange(len(rows), device=self.device), counts)
        before = torch.cumsum(counts, 0) - counts
        seen = torch.arange(len(which), device=self.device) + (first - before)[which]
        columns, last = self.parts["columns"][seen], STANDARD.columns - 1
        return seen, which * STANDARD.columns + (last - columns if mirrored else columns)


def choices_of(labels: Labels) -> tuple[Labels, Afterstates]:
    """The labels of positions with two or more moves whose results the rules do not know, and no known win; and what
    these moves lead to.
    """
    states = afterstates(labels.positions, labels.masks, STANDARD)
    chosen = np.bincount(states.rows, minlength=len(labels)) >= 2
    asked = chosen[states.rows]
    of_moves = {name: getattr(states, name)[asked] for name in ("columns", "positions", "masks", "is_own")}
    of_positions = {name: getattr(states, name)[chosen] for name in ("scores", "blocks")}
    rows = (np.cumsum(chosen) - 1)[states.rows[asked]]
    return labels.take(np.flatnonzero(chosen)), Afterstates(rows=rows, **of_moves, **of_positions)


def is_new(labels: Labels, training: Labels) -> np.ndarray:
    """Whether a network that learns from the training labels sees none of it, (n,) bool; mirror images count as equal.

    Neither is the position among them, nor do its moves lead to anything that moves of theirs lead to.
    """
    _, learnt = choices_of(training)
    states = afterstates(labels.positions, labels.masks, STANDARD)
    met = np.isin(canonical_keys(states.positions, states.masks), canonical_keys(learnt.positions, learnt.masks))
    known = np.isin(canonical_keys(labels.positions, labels.masks), canonical_keys(training.positions, training.masks))
    return ~known & (np.bincount(states.rows[met], minlength=len(labels)) == 0)
