"""What was solved once: exact scores of positions of 7x6, in a file in the user's folder for caches.

Those of plies 8 to 14: the opening table has earlier ones, and the solver finds later ones at once. The file is a
container of connectx_core.weights, with a checksum; what is damaged is made anew.
"""

from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np
from platformdirs import user_cache_path

from connectx_core.books import LAST_PLY, openings, place_of
from connectx_core.position import NO_MOVE, STANDARD, Position, Scores, stones_of
from connectx_core.weights import pack, unpack
from connectx_toolkit.system.files import file_lock, write_whole

KEPT_PLIES = range(LAST_PLY, 15)
MOST = 200_000  # positions in the file, 15 bytes each: those with the fewest stones, which take longest


class KnownScores:
    """The file as it is now, and what is added to it until ``save``. A row may lack scores of moves that are worse.

    As a context manager it is saved at the end, also at Ctrl-C.
    """

    def __init__(self) -> None:
        self._path = user_cache_path("connectx-toolkit") / "scores.bin"
        self._keys, self._scores = _read_scores(self._path)
        self._new: dict[int, Scores] = {}  # by key, of canonical positions

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.save()

    def __len__(self) -> int:
        """Positions in the file, as it was read."""
        return len(self._keys)

    def get(self, position: Position) -> Scores | None:
        """The score of each column's move, None for a full column or one that is not known; None if none is known."""
        if position.geometry != STANDARD or position.ply not in KEPT_PLIES:
            return None
        state = position.canonical()
        row = self._new.get(state.key)
        if row is None:
            if (place := place_of(state, self._keys)) is None:
                return None
            row = [None if score == NO_MOVE else score for score in self._scores[place].tolist()]
        return list(row if state == position else row[::-1])

    def whole(self, position: Position) -> Scores | None:
        """The scores of all moves, by the opening table or the file; None if one of them is in neither."""
        scores = openings().scores(position) or self.get(position)
        return None if scores is None or any(scores[c] is None for c in position.legal_columns()) else scores

    def add(self, position: Position, scores: Scores) -> None:
        """Keeps the scores of a position, if they are such as the file has; they replace those that it had."""
        if position.geometry == STANDARD and position.ply in KEPT_PLIES:
            state = position.canonical()
            self._new[state.key] = scores if state == position else scores[::-1]

    def save(self) -> None:
        """Writes what was added, if it can be written; what others have added meanwhile stays."""
        if not self._new:
            return
        with suppress(OSError), file_lock(self._path):
            keys, scores = _read_scores(self._path)
            added = np.array([[NO_MOVE if one is None else one for one in row] for row in self._new.values()], np.int8)
            keys, scores = np.concatenate([np.array([*self._new], np.uint64), keys]), np.concatenate([added, scores])
            keys, first = np.unique(keys, return_index=True)
            scores = scores[first]
            stones = np.bitwise_count(stones_of(keys.astype(np.int64), STANDARD)[1])
            kept = np.sort(np.argsort(stones, kind="stable")[:MOST])
            write_whole(self._path, pack({"keys": keys[kept], "scores": scores[kept]}))


def _read_scores(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The keys of canonical positions, sorted: uint64 (n,); and the scores of their moves: int8 (n, columns)."""
    with suppress(OSError, ValueError, KeyError):
        arrays, _ = unpack(path.read_bytes())
        keys, scores = arrays["keys"], arrays["scores"]
        if keys.dtype == np.uint64 and scores.dtype == np.int8 and scores.shape == (len(keys), STANDARD.columns):
            return keys, scores
    return np.empty(0, np.uint64), np.empty((0, STANDARD.columns), np.int8)
