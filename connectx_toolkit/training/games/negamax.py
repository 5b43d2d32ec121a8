"""Kaggle's built-in agent ``negamax`` for many games at once: it looks five plies ahead and breaks ties by coins.

The same columns with the same chances as ``negamax_agent`` of kaggle_environments (envs/connectx/connectx.py), which
takes 0.1 s a move; this takes some 0.01 ms. Its scores are doubled here, to be integers: a win is worth the number of
empty cells and one more; at the last ply a move is worth that much, too, and 2 more for each neighbour of its own on
either side and below, the bottom two rows apart.
"""

import numpy as np

from connectx.geometry import Geometry
from connectx.jit import jitable, njit, popcount
from connectx.position import column_cells, open_cells, winning_spots
from connectx_toolkit.training.games.batch import Games
from connectx_toolkit.training.games.connectx import ConnectX

DEPTH = 4  # moves of the tree before the one that is judged by its neighbours


@jitable
def clustering(move, position, geometry):
    """What the last ply adds for the neighbours of a stone on the cell ``move``."""
    high = geometry.board_mask & ~(geometry.bottom_mask | geometry.bottom_mask << 1)
    beside = ((move & position << geometry.stride) != 0) + ((move & position >> geometry.stride) != 0)
    return 2 * (beside + ((move & high & position << 1) != 0))


@njit
def value(position, mask, depth, alpha, beta, geometry):
    """The doubled score for the side to move, exact between ``alpha`` and ``beta``, else a bound beyond them."""
    left = geometry.rows * geometry.columns - popcount(mask)
    if left == 0:
        return 0
    moves = open_cells(mask, geometry)
    if moves & winning_spots(position, mask, geometry):
        return left + 1
    best = -2 * geometry.rows * geometry.columns
    for column in range(geometry.columns):
        move = moves & column_cells(column, geometry)
        if move == 0:
            continue
        if depth == 0:
            score = left + 1 + clustering(move, position, geometry)
        else:
            score = -value(position ^ mask, mask | move, depth - 1, -beta, -max(alpha, best), geometry)
        best = max(best, score)
        if best >= beta:
            break
    return best


@njit
def choose(positions, masks, coins, geometry, chosen):
    """Writes the column of each position to ``chosen``; ``coins``: (n, columns) bool, whether a tie is taken."""
    worst = -2 * geometry.rows * geometry.columns
    for game in range(len(positions)):
        position, mask = positions[game], masks[game]
        moves = open_cells(mask, geometry)
        wins = moves & winning_spots(position, mask, geometry)
        best = worst
        for column in range(geometry.columns):
            move = moves & column_cells(column, geometry)
            if move & wins:
                chosen[game] = column
                break
            if move:
                # One below the best: a tie has to be told from what is worse.
                score = -value(position ^ mask, mask | move, DEPTH - 1, worst, 1 - best, geometry)
                if score > best or (score == best and coins[game, column]):
                    best = score
                    chosen[game] = column


class Negamax:
    """The player; boards have to fit 64 bits."""

    def __init__(self, geometry: Geometry, rng: np.random.Generator):
        self._geometry, self._rng = geometry, rng

    def __call__(self, games: Games, which: np.ndarray) -> np.ndarray:
        assert isinstance(games, ConnectX)
        coins = self._rng.random((len(which), games.columns)) < 0.5
        chosen = np.empty(len(which), np.int64)
        choose(*games.bitboards(which), coins, self._geometry, chosen)
        return chosen
