"""A policy from positions after moves: a network judges what each move leads to, and rules judge the rest.

Rules: a stone that completes a line wins; a move that lets the other side complete one at once loses. Where somebody
can win at once, or only one move does not lose, the rules alone choose a best move. Of moves that all lose at once none
is worse than another; one that blocks a line asks more of the other side. The network is asked for the positions after
all other moves, from the view of the side that is to move there.
"""

from typing import NamedTuple

import numpy as np

from connectx.encoding import safe_cells
from connectx.geometry import Geometry
from connectx.position import open_cells, winning_spots

NEVER = -1e4  # the logit of a move that the rules rule out, or that does not exist
SURE = 10.0  # the logit of a result that the rules know


class Afterstates(NamedTuple):
    """The positions to be judged, m in all, for n positions; ``rows`` is in increasing order."""

    rows: np.ndarray  # (m,) int64, which of the n positions
    columns: np.ndarray  # (m,) int64, of the move
    positions: np.ndarray  # (m,) int64, after the move, stones of the side then to move
    masks: np.ndarray  # (m,) int64
    wins: np.ndarray  # (n, columns) bool: the moves that win at once
    blocks: np.ndarray  # (n, columns) bool: those that keep the other side from a line there


def afterstates(positions: np.ndarray, masks: np.ndarray, geometry: Geometry) -> Afterstates:
    """The positions after the moves that do not lose at once, of those of n positions where no move wins at once."""
    columns = np.array([geometry.column_mask(column) for column in range(geometry.columns)])
    moves = open_cells(masks, geometry)
    wins, blocks = (moves & winning_spots(side, masks, geometry) for side in (positions, positions ^ masks))
    asked = np.where(wins == 0, safe_cells(positions, masks, geometry), 0)
    rows, places = np.nonzero(asked[:, None] & columns)
    after = masks[rows] | (asked[rows] & columns[places])
    by_column = ((cells[:, None] & columns) != 0 for cells in (wins, blocks))
    return Afterstates(rows, places, (positions ^ masks)[rows], after, *by_column)


def policy_of(moves: np.ndarray, states: Afterstates) -> np.ndarray:
    """Logits of all columns, (n, columns) float32, from those of the moves that were asked for, (m,)."""
    policy = np.where(states.wins, 0, np.where(states.blocks, NEVER / 2, NEVER)).astype(np.float32)
    policy[states.rows, states.columns] = moves
    return policy


def value_of(policy: np.ndarray, values: np.ndarray, states: Afterstates) -> np.ndarray:
    """Logits of loss, draw and win, (n, 3) float32: the mean over the positions asked for, weighted by the policy.

    Args:
        policy: as ``policy_of`` gives it.
        values: the logits of loss, draw and win for the side to move after each move, (m, 3).
    """
    chances = np.exp(values - values.max(1, keepdims=True))
    chances = (chances / chances.sum(1, keepdims=True))[:, ::-1]
    best = policy.max(1)
    weights = np.exp(policy[states.rows, states.columns] - best[states.rows])
    results, whole = np.zeros((len(policy), 3), np.float32), np.zeros(len(policy), np.float32)
    np.add.at(results, states.rows, weights[:, None] * chances)
    np.add.at(whole, states.rows, weights)
    known = np.where(states.wins.any(1, keepdims=True), [-SURE, -SURE, SURE], [SURE, -SURE, -SURE])
    asked = whole > 0
    logits = np.log(np.maximum(results, 1e-6) / np.where(asked, whole, 1)[:, None])
    return np.where(asked[:, None], logits, known).astype(np.float32)
