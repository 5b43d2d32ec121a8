"""Follows each move and the forced replies to it, and evaluates the positions that they lead to by a network.

A reply is forced if every other one loses at once. Replies are followed as long as they are forced. If a line ends the
game, its result and ply are known. Otherwise the position reached is quiet: nobody can complete a line with the next
stone, and the side to move has a choice. The network evaluates the quiet positions. Chess programs call this quiescence
search; here a position that is not quiet has a single answer.
"""

from typing import NamedTuple

import numpy as np

from connectx_core.encoding import safe_cells
from connectx_core.network import PlainNetwork, softmax
from connectx_core.position import Geometry, open_cells, winning_spots

NEVER = -1e4  # the logit of a move that the rules rule out, or that does not exist
LEAST_CHANCE = 1e-9  # of a result, even where the rules know another
UNRATED = 127  # instead of the score of a move, where the rules do not know it
# What counts in a move's logit besides the network's own: being sure that no other move has a better result, and that
# none has a better score.
RESULT_BONUS, BEST_BONUS = 48.0, 8.0


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
    asked = ~known & ~has_win(scores)[rows]
    positions, masks, is_own = (part[asked] for part in (replies.positions, replies.masks, replies.turned))
    return Afterstates(rows[asked], places[asked], positions, masks, is_own, scores, is_block)


def has_win(scores: np.ndarray) -> np.ndarray:
    """(n,) bool: whether some of the known scores of moves, (n, columns), is a win."""
    return ((scores > 0) & (scores != UNRATED)).any(1)


def score_range(geometry: Geometry) -> np.ndarray:
    """The scores that a distribution is over, -most to most, of a line at once: (2 * most + 1,) int64."""
    most = (geometry.cells + 1) // 2
    return np.arange(-most, most + 1)


def chances_of_moves(chances: np.ndarray, states: Afterstates) -> np.ndarray:
    """The chances of the scores of all moves, for the mover: (n, columns, scores) float32.

    Where there is no move the least score is sure.

    Args:
        chances: of the scores of the side to move in each position that was asked for, (m, scores).
    """
    most = chances.shape[1] // 2
    known = np.where(states.scores == UNRATED, -most, states.scores) + most
    moves = (known[..., None] == np.arange(chances.shape[1])).astype(np.float32)
    chances = np.where(states.is_own[:, None], chances, chances[:, ::-1])
    moves[states.rows, states.columns] = chances
    return moves


def chances_of_best(moves: np.ndarray) -> np.ndarray:
    """(n, columns): the chance of each move that no other has a better score, as if they did not depend on each other.

    Args:
        moves: the chances of scores, or of other things in increasing order, (n, columns, scores).
    """
    at_most = np.maximum(moves.cumsum(2), 1e-12)
    return (moves * (at_most.prod(1, keepdims=True) / at_most)).sum(2)


def results_of(moves: np.ndarray) -> np.ndarray:
    """The chances of loss, draw and win, (n, columns, 3), from those of scores."""
    most = moves.shape[2] // 2
    return np.stack([moves[..., :most].sum(2), moves[..., most], moves[..., most + 1 :].sum(2)], 2)


def logit_bonus(moves: np.ndarray) -> np.ndarray:
    """(n, columns): what the chances of a move's scores add to its logit."""
    return RESULT_BONUS * chances_of_best(results_of(moves)) + BEST_BONUS * chances_of_best(moves)


def policy_of(logits: np.ndarray, moves: np.ndarray, states: Afterstates) -> np.ndarray:
    """Logits of all columns, (n, columns) float32.

    Of moves that win by force the quickest are played. Those that lose by force are played only where there are no
    others: the slowest, and of them one that blocks a line, because it asks more of the other side.

    Args:
        logits: the network's own for each position that it was asked for, (m,): how good it is for the side that is
            not to move there.
        moves: as ``chances_of_moves`` gives them.
    """
    scores = np.where(states.scores == UNRATED, 0, states.scores)
    best = scores.max(1, keepdims=True)
    loses = NEVER / 2 + 10.0 * scores + 5.0 * states.blocks
    policy = np.select([(scores > 0) & (scores == best), scores < 0], [0, loses], NEVER).astype(np.float32)
    asked = states.rows, states.columns
    policy[asked] = np.where(states.is_own, -logits, logits) + logit_bonus(moves)[asked]
    return policy


def value_of(policy: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Logits of loss, draw and win, (n, 3) float32: the mean over the moves, weighted by the policy.

    Args:
        policy: as ``policy_of`` gives it.
        moves: as ``chances_of_moves`` gives them.
    """
    weights = np.exp(policy - policy.max(1, keepdims=True))
    means = np.einsum("nc,ncr->nr", weights, results_of(moves)) / weights.sum(1, keepdims=True)
    return np.log(np.maximum(means, LEAST_CHANCE)).astype(np.float32)


class MoveNetwork(PlainNetwork):
    """The forward pass in numpy of any network, also of one that evaluates what replies lead to."""

    FOLLOWS_REPLIES = True

    def evaluate_many(self, positions: np.ndarray, masks: np.ndarray) -> dict[str, np.ndarray]:
        """What the network says of n positions.

        Returns:
            (n, size) float32 for each head; of one that evaluates what replies lead to "policy", "value", and
            "results", what is expected of each move for the side to move, -1 to 1.
        """
        if "move" not in dict(self.architecture.heads):
            return super().evaluate_many(positions, masks)
        states = afterstates(positions, masks, self.architecture.geometry)
        outputs = super().evaluate_many(states.positions, states.masks)
        moves = chances_of_moves(softmax(outputs["score"]), states)
        policy, results = policy_of(outputs["move"][:, 0], moves, states), results_of(moves)
        return {"policy": policy, "value": value_of(policy, moves), "results": results[..., 2] - results[..., 0]}
