"""Wins by threats alone, and the replies that they leave: a quiescence search before a network judges.

Here a threat is a stone after which its side could complete a line with the next one. It has one answer at most, so
that its side alone chooses, and among few: sequences of threats can be followed to the end (the threat-space search of
Allis, van den Herik and Huntjens 1993). A reply after which the other side so wins is no reply; where one is left, it
is forced. In lambda search (Thomsen 2000) these would be the orders 1 and 2.
"""

import numpy as np

from connectx.geometry import Geometry
from connectx.nets.afterstates import UNKNOWN, Afterstates, follow
from connectx.nets.encoding import safe_cells
from connectx.position import open_cells, winning_spots

LONGEST = 6  # threats in a row: of 13,051 positions after moves they decide 2,046, longer sequences one more
AT_ONCE = 50_000  # positions, whose moves fill some 30 MB: of 700,000 at once each takes three times as long


def after_forced_replies(states: Afterstates, geometry: Geometry) -> Afterstates:
    """Follows replies where every other one loses to threats, and says who wins by them. ``scores`` stay as they are.

    That keeps the result of the move, but not always its score: a reply that is ruled out may lose later.

    Args:
        states: as ``connectx.nets.afterstates.afterstates`` gives them, quiet.
    """
    parts = states.positions, states.masks, states.is_own, states.proven
    positions, masks, is_own, proven = (part.copy() for part in parts)
    going = np.arange(len(masks))
    while going.size:
        position, mask = positions[going], masks[going]
        rows, moves = each_cell(safe_cells(position, mask, geometry), geometry)
        others, after = (position ^ mask)[rows], mask[rows] | moves
        wins = wins_by_threats(np.concatenate([position, others]), np.concatenate([mask, after]), geometry)
        is_won, loses = np.split(wins, [len(going)])
        replies, left = (np.bincount(rows, weights, len(going)) for weights in (None, ~loses))
        result = np.select([is_won, (left == 0) & (replies > 0)], [1, -1], 0)
        proven[going] = np.where(is_own[going], result, -result)
        forced = np.flatnonzero(~loses & (~is_won & (left == 1))[rows])
        ends = follow(others[forced], after[forced], geometry)
        going, known = going[rows[forced]], ends.scores != UNKNOWN
        over, result = going[known], np.sign(ends.scores[known])
        proven[over] = np.where(is_own[over], -result, result)
        going = going[~known]
        positions[going], masks[going] = ends.positions[~known], ends.masks[~known]
        is_own[going] ^= ~ends.turned[~known]
    return states._replace(positions=positions, masks=masks, is_own=is_own, proven=proven)


def wins_by_threats(positions: np.ndarray, masks: np.ndarray, geometry: Geometry) -> np.ndarray:
    """(n,) bool: whether the side to move wins by at most ``LONGEST`` threats, whatever the answers.

    Args:
        positions, masks: two (n,) int64; the side to move cannot complete a line with the next stone.
    """
    if len(masks) > AT_ONCE:
        halves = zip(np.array_split(positions, 2), np.array_split(masks, 2), strict=True)
        return np.concatenate([wins_by_threats(*half, geometry) for half in halves])
    won, roots = np.zeros(len(masks), bool), np.arange(len(masks))
    for _ in range(LONGEST):
        rows, moves = each_cell(safe_cells(positions, masks, geometry), geometry)
        positions, masks, roots = positions[rows] | moves, masks[rows] | moves, roots[rows]
        answers = open_cells(masks, geometry) & winning_spots(positions, masks, geometry)
        won[roots[answers & (answers - 1) != 0]] = True
        going = (answers != 0) & ~won[roots]
        positions, masks, roots = positions[going], (masks | answers)[going], roots[going]
        won[roots[open_cells(masks, geometry) & winning_spots(positions, masks, geometry) != 0]] = True
        going = ~won[roots]
        positions, masks, roots = positions[going], masks[going], roots[going]
        if not roots.size:
            break
    return won


def each_cell(cells: np.ndarray, geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """Rows of n sets of cells, at most one in a column, and one of their cells each: two (m,), rows in order."""
    columns = np.array([geometry.column_mask(column) for column in range(geometry.columns)])
    rows, places = np.nonzero(cells[:, None] & columns)
    return rows, cells[rows] & columns[places]
