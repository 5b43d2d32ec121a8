"""Keeps what judges a network out of what it learns from."""

from pathlib import Path

import numpy as np

from connectx.geometry import STANDARD
from connectx.nets.afterstates import afterstates
from connectx.nets.threats import after_forced_replies
from connectx_toolkit.training.data.bounds import Bounds
from connectx_toolkit.training.data.shards import Labels, canonical_keys, concatenated, read_shard

ALL_KNOWN = 8  # the first ply of which not every position is labelled
NO_KEY = -1  # the key of no position
FOLLOWED_AT_ONCE = 10_000  # positions: what their threats lead to fills some 100 MB


def asked_in(folder: Path) -> Labels:
    """The labels of the shards of a folder. Raises ValueError if there are none, or one is damaged."""
    shards = [read_shard(path)[0] for path in sorted(folder.glob("*.shard"))]
    if not shards:
        raise ValueError(f"no shards in {folder}: python -m benchmarks.recipes --folder {folder} makes them")
    return concatenated(shards)


def without(labels: Labels, asked: Labels) -> Labels:
    """The labels whose positions are not asked, or of plies 0 to 7: of these every position is known."""
    keys, asked_keys = (canonical_keys(part.positions, part.masks, STANDARD) for part in (labels, asked))
    return labels.take(np.flatnonzero(~np.isin(keys, asked_keys) | (labels.plies < ALL_KNOWN)))


def unseen(bounds: Bounds, asked: Labels) -> Bounds:
    """The bounds of positions that are not asked, and that a network that judges replies does not see when they are."""
    seen = [(asked.positions, asked.masks)]
    for start in range(0, len(asked), FOLLOWED_AT_ONCE):
        part = slice(start, start + FOLLOWED_AT_ONCE)
        quiet = afterstates(asked.positions[part], asked.masks[part], STANDARD)
        seen += [(states.positions, states.masks) for states in (quiet, after_forced_replies(quiet, STANDARD))]
    positions, masks = (np.concatenate(parts) for parts in zip(*seen, strict=True))
    keys = np.append(np.unique(canonical_keys(positions, masks, STANDARD)), NO_KEY)  # np.isin sorts all bounds, too
    return bounds.take(np.flatnonzero(keys[np.searchsorted(keys[:-1], bounds.keys)] != bounds.keys))
