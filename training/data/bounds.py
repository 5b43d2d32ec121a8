"""Proven bounds of positions' scores, which a solver leaves behind in its table, as training data beside labels.

To label a position the solver visits a million others and proves of each that its score is at least, or at most, some
number. That is less than a label says, but there are hundreds for the price of one. They come from both sides' best
moves against all replies. None is chosen by what was proven: among chosen ones wins would seem more likely than they
are, because what a search proves of a draw is that it is no win, or no loss.

Bounds are stored beside the shard of labels that they come from: NNNNN.bounds, a container of connectx.weights.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx.position import key_of
from connectx.solver import Solver
from connectx.weights import pack, unpack
from console.files import write_whole
from training.data.sampling import has_choice

FIRST, LAST = 9, 21  # plies that are kept, about as many positions of each; they are those that cost most to label
SUFFIX = ".bounds"


class Bounds(NamedTuple):
    """Intervals that contain positions' scores. No position is a mirror image of another in the same shard."""

    keys: np.ndarray  # (n,) int64, of positions with a choice; ``connectx.position.stones_of`` decodes them
    lows: np.ndarray  # (n,) int8, for the side to move
    highs: np.ndarray  # (n,) int8

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: np.ndarray) -> "Bounds":
        return Bounds(*(array[rows] for array in self))


def even_shares(counts: np.ndarray, wanted: int) -> np.ndarray:
    """So many of each kind that together there are about ``wanted``: an even share, or all where there are fewer."""
    shares, left = np.zeros_like(counts), wanted
    order = np.argsort(counts, kind="stable")
    for done, kind in enumerate(order):
        shares[kind] = min(counts[kind], left // (len(counts) - done))
        left -= shares[kind]
    return shares


def gleaned(solver: Solver, wanted: int, rng: np.random.Generator) -> Bounds:
    """Some ``wanted`` of the bounds in a solver's table."""
    positions, masks, lows, highs = solver.entries()
    plies = np.bitwise_count(masks)
    rows = rng.permutation(np.flatnonzero((plies >= FIRST) & (plies <= LAST)))
    rows = rows[has_choice(positions[rows], masks[rows], solver.geometry)]
    counts = np.bincount(plies[rows], minlength=LAST + 1)[FIRST:]
    kept = [rows[plies[rows] == FIRST + kind][:share] for kind, share in enumerate(even_shares(counts, wanted))]
    rows = np.concatenate(kept)
    return Bounds(key_of(positions, masks)[rows], lows[rows], highs[rows])


def write_bounds(path: Path, bounds: Bounds, recipe: dict[str, Any]) -> None:
    write_whole(path, pack(bounds._asdict(), recipe))


def read_bounds(folder: Path) -> Bounds:
    """All bounds in a folder and its subfolders, each position once; none if there are none.

    Raises:
        ValueError: a file is damaged.
    """
    found = [Bounds(*(np.empty(0, dtype) for dtype in ("int64", "int8", "int8")))]
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        try:
            found.append(Bounds(**unpack(path.read_bytes())[0]))
        except (ValueError, TypeError) as fault:
            raise ValueError(f"{path} holds no bounds: {fault}") from None
    bounds = Bounds(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))
    return bounds.take(np.unique(bounds.keys, return_index=True)[1])
