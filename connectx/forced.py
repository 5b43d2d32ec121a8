"""Forced replies: what moves lead to whose answers are the only ones.

A reply is forced if it is the only one that does not lose at once: where a stone that completes a line can be kept off
by one stone, or every other stone would let one be completed. Replies are followed as long as they are forced. Where
they end with a line, the result and its ply are known; elsewhere the position is quiet: nobody completes a line with
the next stone, and the side to move has a choice. This is the quiescence search of chess programs for a game in which
what is not quiet has a single answer.
"""

from typing import NamedTuple

import numpy as np

from connectx.position import Geometry, open_cells, winning_spots

UNRATED = 127  # instead of the score of a move, where the rules do not know it


def safe_cells(position: np.ndarray, mask: np.ndarray, geometry: Geometry) -> np.ndarray:
    """The moves after which the opponent cannot win at once: ``connectx.search.safe_moves`` for arrays."""
    moves, spots = open_cells(mask, geometry), winning_spots(position ^ mask, mask, geometry)
    forced = moves & spots
    answers = np.where(forced == 0, moves, np.where(forced & (forced - 1), 0, forced))
    return answers & ~(spots >> 1)


class Quiet(NamedTuple):
    """Where forced replies from n positions end."""

    positions: np.ndarray  # (n,) int64, stones of the side then to move
    masks: np.ndarray  # (n,) int64
    turned: np.ndarray  # (n,) bool: whether another side is to move there
    scores: np.ndarray  # (n,) int8, of the first position for the side to move in it, or UNRATED


class Afterstates(NamedTuple):
    """The positions to be evaluated, m in all, for n positions; ``rows`` is in increasing order."""

    rows: np.ndarray  # (m,) int64, which of the n positions
    columns: np.ndarray  # (m,) int64, of the move
    positions: np.ndarray  # (m,) int64, after the move and forced replies, stones of the side then to move
    masks: np.ndarray  # (m,) int64
    is_own: np.ndarray  # (m,) bool: whether that is the side that made the move
    scores: np.ndarray  # (n, columns) int8: of moves that win or lose by force, for the mover; else UNRATED
    blocks: np.ndarray  # (n, columns) bool: the moves that keep the other side from a line there


def follow(positions: np.ndarray, masks: np.ndarray, geometry: Geometry) -> Quiet:
    """Plays the only replies that do not lose at once. Nobody may have a line."""
    replies = Quiet(positions.copy(), masks.copy(), np.zeros(len(masks), bool), np.full(len(masks), UNRATED, np.int8))
    going = np.arange(len(masks))
    while going.size:
        position, mask, turned = (part[going] for part in replies[:3])
        left = geometry.cells - np.bitwise_count(mask).astype(np.int8)  # empty cells
        answers = safe_cells(position, mask, geometry)
        wins = (open_cells(mask, geometry) & winning_spots(position, mask, geometry)) != 0
        loses = ~wins & (answers == 0) & (left > 0)
        score = np.select([wins, loses], [(left + 1) // 2, -(left // 2)], UNRATED)
        replies.scores[going] = np.where(turned & (wins | loses), -score, score)
        forced = ~wins & (answers != 0) & (answers & (answers - 1) == 0)
        going = going[forced]
        replies.positions[going], replies.masks[going] = (position ^ mask)[forced], (mask | answers)[forced]
        replies.turned[going] = ~turned[forced]
    return replies


def afterstates(positions: np.ndarray, masks: np.ndarray, geometry: Geometry) -> Afterstates:
    """What the moves lead to whose results the rules do not know, of those of n positions where none wins by force."""
    columns = np.array([geometry.column_mask(column) for column in range(geometry.columns)])
    moves = open_cells(masks, geometry)
    wins, blocks = (moves & winning_spots(side, masks, geometry) for side in (positions, positions ^ masks))
    answers = np.where(wins == 0, safe_cells(positions, masks, geometry), moves & ~wins)
    is_move, is_win, is_answer, is_block = ((cells[:, None] & columns) != 0 for cells in (moves, wins, answers, blocks))
    left = (geometry.cells - np.bitwise_count(masks).astype(np.int8))[:, None]
    scores = np.select([is_win, is_move & ~is_answer], [(left + 1) // 2, -(left // 2)], UNRATED).astype(np.int8)
    rows, places = np.nonzero(is_answer & ~is_win.any(1, keepdims=True))
    replies = follow((positions ^ masks)[rows], masks[rows] | (moves[rows] & columns[places]), geometry)
    known = replies.scores != UNRATED
    scores[rows[known], places[known]] = -replies.scores[known]
    asked = ~known & ~won(scores)[rows]
    positions, masks, is_own = (part[asked] for part in (replies.positions, replies.masks, replies.turned))
    return Afterstates(rows[asked], places[asked], positions, masks, is_own, scores, is_block)


def won(scores: np.ndarray) -> np.ndarray:
    """(n,) bool: whether some of the known scores of moves, (n, columns), is a win."""
    return ((scores > 0) & (scores != UNRATED)).any(1)
