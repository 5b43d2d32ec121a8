"""Labels in a few bytes a position, so that a repository can hold hundreds of thousands of them.

A score that a look at the board gives is left out: full columns, moves that win at once, and moves after which the
other side does. The rest, in the order of the positions, goes through LZMA: 2.4 bytes a position with 9 to 20 stones
(with all scores it is 3.4). There are two forms, both containers of connectx.weights:

- ``.scores`` holds a block of shards without their positions, which follow from the recipe: whoever plays the games
  again gets the shards without a solver. Each shard has a checksum of its positions. It differs where other code (of
  the games, of numpy, of numba) plays other games, whose positions these scores are not for.
- ``.labels`` holds positions, too, each or its mirror image once: 2.9 bytes more, and nothing has to be played again.
  Sorted by their keys, neighbours differ little: the more there are, the less.
"""

import hashlib
import lzma
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx.geometry import STANDARD, Geometry
from connectx.position import key_of, open_cells, stones_of, winning_spots
from connectx.score import NO_MOVE
from connectx.weights import pack, unpack
from connectx_toolkit.training.data.sampling import moves_of

DIGEST = 16  # hexadecimal digits of a checksum
COLUMN = (1 << STANDARD.stride) - 1  # a column's bits
SHIFTS = STANDARD.stride * np.arange(STANDARD.columns)
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


class ShardScores(NamedTuple):
    """The scores of one shard."""

    digest: str  # of the shard's positions
    scores: np.ndarray  # (moves,) int8, those of ``searched_scores``


def scores_at_sight(positions: np.ndarray, masks: np.ndarray, geometry: Geometry = STANDARD) -> tuple[np.ndarray, ...]:
    """The scores that need no search, (n, columns) int8, and which moves they leave out, (n, columns) bool.

    Known are full columns, moves that win at once, and others after which the other side does.
    """
    moves = moves_of(masks, geometry)
    wins = winning_spots(positions, masks, geometry)[:, None] & moves != 0
    after = masks[:, None] | moves
    replies = winning_spots((positions ^ masks)[:, None], after, geometry) & open_cells(after, geometry) != 0
    empty = geometry.cells - np.bitwise_count(masks).astype(np.int64)[:, None]
    scores = np.select([moves == 0, wins, replies], [NO_MOVE, (empty + 1) // 2, -(empty // 2)], 0).astype(np.int8)
    return scores, (moves != 0) & ~wins & ~replies


def digest_of(positions: np.ndarray, masks: np.ndarray) -> str:
    """A checksum of positions in their order."""
    return hashlib.sha256(np.stack([positions, masks]).astype("<i8").tobytes()).hexdigest()[:DIGEST]


def searched_scores(positions: np.ndarray, masks: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The scores that have to be kept, (moves,) int8; ``completed`` gives all of them back."""
    known, searched = scores_at_sight(positions, masks)
    if (known != scores)[~searched].any():
        raise ValueError("these are no scores of these positions: they differ from what a look at the board gives")
    return scores[searched]


def completed(positions: np.ndarray, masks: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """The scores of all moves, (n, columns) int8, from those that ``searched_scores`` has kept."""
    scores, searched = scores_at_sight(positions, masks)
    if searched.sum() != len(kept):
        raise ValueError(f"{len(kept)} scores for {searched.sum()} moves")
    scores[searched] = kept
    return scores


def squeezed(numbers: np.ndarray) -> np.ndarray:
    """An array of bytes, compressed: (m,) uint8."""
    return np.frombuffer(lzma.compress(numbers.tobytes(), lzma.FORMAT_RAW, filters=FILTERS), np.uint8)


def expanded(content: np.ndarray, dtype: str) -> np.ndarray:
    """The array that ``squeezed`` was given, one-dimensional. Raises ValueError if it is something else."""
    try:
        return np.frombuffer(lzma.decompress(content.tobytes(), lzma.FORMAT_RAW, filters=FILTERS), dtype)
    except lzma.LZMAError as fault:
        raise ValueError(f"not compressed as it should be: {fault}") from None


def pack_scores(shards: dict[int, ShardScores], recipe: dict[str, Any]) -> bytes:
    """A file of the form ``.scores``, of shards by number."""
    rows = [[number, shard.digest, len(shard.scores)] for number, shard in sorted(shards.items())]
    scores = np.concatenate([shard.scores for _, shard in sorted(shards.items())])
    return pack({"scores": squeezed(scores)}, {"recipe": recipe, "shards": rows})


def unpack_scores(content: bytes) -> tuple[dict[int, ShardScores], dict[str, Any]]:
    """What ``pack_scores`` was given. Raises ValueError if it is something else."""
    arrays, meta = unpack(content)
    try:
        rows = [(int(number), str(digest), int(moves)) for number, digest, moves in meta["shards"]]
        scores, recipe = expanded(arrays["scores"], "int8"), meta["recipe"]
    except (KeyError, TypeError) as fault:
        raise ValueError(f"no packed scores: {fault!r}") from None
    ends = np.cumsum([moves for _, _, moves in rows])
    if len(scores) != ends[-1]:
        raise ValueError(f"{len(scores)} scores, expected {ends[-1]}")
    parts = np.split(scores, ends[:-1])
    return {number: ShardScores(digest, part) for (number, digest, _), part in zip(rows, parts, strict=True)}, recipe


def read_packed(path: Path) -> tuple[dict[int, ShardScores], dict[str, Any]]:
    """The scores in a file, by the number of the shard, and the recipe of the shards.

    Raises:
        ValueError: the file is damaged or contains something else.
    """
    try:
        return unpack_scores(path.read_bytes())
    except ValueError as fault:
        raise ValueError(f"{path} holds no packed scores: {fault}") from None


def read_scores_for(folder: Path, recipe: dict[str, Any]) -> dict[int, ShardScores]:
    """The packed scores of a recipe in a folder and its subfolders. Raises as ``read_packed``."""
    files = [read_packed(path) for path in sorted(folder.rglob("*.scores"))]
    return {number: shard for shards, made_by in files if made_by == recipe for number, shard in shards.items()}


def pack_labels(arrays: dict[str, np.ndarray], recipe: Any) -> bytes:
    """A file of the form ``.labels``, of the arrays of ``training.data.shards.Labels``; it has them by their keys.

    A column's 7 bits of a key plus its lowest cell are its stones below a guard: they give its height, too.
    """
    order = np.argsort(key_of(arrays["positions"], arrays["masks"]))
    positions, masks = arrays["positions"][order], arrays["masks"][order]
    columns = ((key_of(positions, masks) + STANDARD.bottom_mask) >> SHIFTS[:, None]) & COLUMN
    kept = searched_scores(positions, masks, arrays["scores"][order])
    parts = {"columns": columns.astype(np.uint8), "scores": kept, "origins": arrays["origins"][order]}
    return pack({name: squeezed(part) for name, part in parts.items()}, recipe)


def unpack_labels(content: bytes) -> tuple[dict[str, np.ndarray], Any]:
    """What ``pack_labels`` was given, by the keys. Raises ValueError if it is something else."""
    arrays, recipe = unpack(content)
    if set(arrays) != {"columns", "scores", "origins"}:
        raise ValueError(f"arrays {sorted(arrays)}, expected columns, scores and origins")
    columns = expanded(arrays["columns"], "uint8").reshape(STANDARD.columns, -1).astype(np.int64)
    keys = (columns << SHIFTS[:, None]).sum(0) - STANDARD.bottom_mask
    positions, masks = stones_of(keys, STANDARD)
    scores = completed(positions, masks, expanded(arrays["scores"], "int8"))
    origins = expanded(arrays["origins"], "uint8")
    return {"positions": positions, "masks": masks, "scores": scores, "origins": origins}, recipe
