"""Networks that evaluate moves: in one pass, or by what each move and forced replies lead to."""

import numpy as np

from connectx.encoding import encode_many
from connectx.forced import UNRATED, Afterstates, afterstates
from connectx.network import MOVES, POSITION, REPLIES, PlainNetwork, softmax
from connectx.position import Geometry

NEVER = -1e4  # the logit of a move that the rules rule out, or that does not exist
LEAST_CHANCE = 1e-9  # of a result, even where the rules know another
# What counts in a move's logit besides the network's own: being sure that no other move has a better result, and that
# none has a better score.
RESULT_BONUS, BEST_BONUS = 48.0, 8.0


def scores_of(geometry: Geometry) -> np.ndarray:
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


def landing(planes: np.ndarray) -> np.ndarray:
    """Where each column's stone would land: (n, rows, columns) float32 of 0 and 1, none of them in a full column.

    Args:
        planes: in any encoding, (n, planes, rows, columns); the first two are the stones of both sides.
    """
    taken = planes[:, 0] + planes[:, 1]
    below = np.concatenate([np.ones_like(taken[:, :1]), taken[:, :-1]], 1)
    return (below * (1 - taken)).astype(np.float32)


class MoveNetwork(PlainNetwork):
    """The forward pass in numpy of any network, also of one that judges moves or replies."""

    JUDGES = (POSITION, MOVES, REPLIES)

    def _read(self, x: np.ndarray, planes: np.ndarray) -> np.ndarray:
        if self.architecture.judges != MOVES:
            return super()._read(x, planes)
        rows, columns = planes.shape[2:]
        return np.einsum("nrco,nrc->nco", x.reshape(len(x), rows, columns, x.shape[2]), landing(planes))

    def evaluate_many(self, positions: np.ndarray, masks: np.ndarray) -> dict[str, np.ndarray]:
        """What the network says of n positions: one that judges moves in one pass, others also of mirror images.

        Returns:
            (n, size) float32 for each head; for a network that judges moves or replies "policy", "value", and
            "results", what is expected of each move for the side to move, -1 to 1.
        """
        kind = self.architecture
        if kind.judges == POSITION:
            return super().evaluate_many(positions, masks)
        if kind.judges == REPLIES:
            states = afterstates(positions, masks, kind.geometry)
            outputs = super().evaluate_many(states.positions, states.masks)
            moves = chances_of_moves(softmax(outputs["score"]), states)
            policy = policy_of(outputs["move"][:, 0], moves, states)
        else:
            seen = encode_many(positions, masks, kind.geometry, kind.encoding)
            outputs, is_move = self.forward(seen), landing(seen).sum(1) > 0
            chances = softmax(outputs["score"])
            least = np.arange(chances.shape[-1]) == 0  # sure where there is no move
            moves = np.where(is_move[..., None], chances, least).astype(np.float32)
            policy = np.where(is_move, outputs["move"][..., 0], np.float32(NEVER))
        results = results_of(moves)
        return {"policy": policy, "value": value_of(policy, moves), "results": results[..., 2] - results[..., 0]}
