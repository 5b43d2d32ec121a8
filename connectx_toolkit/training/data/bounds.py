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
from connectx_toolkit.console.files import write_whole
from connectx_toolkit.training.data.sampling import has_choice

FIRST, LAST = 9, 21  # plies that are kept, about as many positions of each; they are those that cost most to label
SUFFIX = ".bounds"
END_BITS, MIDDLE = 6, 32  # an end of an interval as a number of so many bits, in which a draw is MIDDLE


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
    """All bounds in a folder and its subfolders, each position once, ordered by key.

    What several searches have proven of a position holds together. Key and ends are sorted as one number, to save
    memory: 439 million bounds take 10 GB at the peak.

    Raises:
        ValueError: there are none, or a file is damaged.
    """
    found = [np.empty(0, np.int64)]
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        try:
            found.append(_whole(Bounds(**unpack(path.read_bytes())[0])))
        except (ValueError, TypeError) as fault:
            raise ValueError(f"{path} holds no bounds: {fault}") from None
    whole = np.concatenate(found)
    found.clear()
    whole.sort()
    keys = whole >> 2 * END_BITS
    if not len(keys):
        raise ValueError(f"no bounds in {folder}: python train.py labels --bounds makes them")
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    keys = keys[starts]
    lows, highs = (((whole >> bits & (1 << END_BITS) - 1) - MIDDLE).astype(np.int8) for bits in (END_BITS, 0))
    return Bounds(keys, np.maximum.reduceat(lows, starts), np.minimum.reduceat(highs, starts))


def _whole(bounds: Bounds) -> np.ndarray:
    """Key and ends of each in one number, (n,) int64, in the order of keys. Raises ValueError if they do not fit."""
    lows, highs = (ends.astype(np.int64) + MIDDLE for ends in bounds[1:])
    if len(bounds) and not (lows.min() >= 0 and (lows <= highs).all() and highs.max() < 1 << END_BITS):
        raise ValueError("ends of intervals that are no scores")
    return (bounds.keys << END_BITS | lows) << END_BITS | highs
