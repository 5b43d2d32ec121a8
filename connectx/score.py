"""What an exact score says: who wins, and when. Scores are those of ``connectx.solver``, for the side to move."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

SPAN = 32  # the largest score of any board that fits a 64-bit word
NO_MOVE = -128  # in arrays, in place of the score of a column that takes no stone: int8 has nothing below it
Scores = Sequence[int | None]  # the exact score of each column's move for the side to move; None if it is full


def sign(score: int) -> int:
    return (score > 0) - (score < 0)


def plies_to_end(score: int, ply: int, cells: int) -> int:
    """How many plies perfect play still lasts from a position of this score at ``ply``, with the winning stone."""
    if score == 0:
        return cells - ply
    last = cells + 1 - 2 * abs(score)  # the ply of the winning stone: this or one less, by who wins
    last -= (last - ply) % 2 == (score > 0)
    return last + 1 - ply


@lru_cache(maxsize=2)
def plies_to_end_table(cells: int) -> np.ndarray:
    """``plies_to_end`` for every ply and score: int64 (cells + 1, 2 * cells + 1), at [ply, score + cells]."""
    scores = range(-cells, cells + 1)
    return np.array([[plies_to_end(score, ply, cells) for score in scores] for ply in range(cells + 1)])
