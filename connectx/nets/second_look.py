"""A second look at moves that a network doubts: at what the other side's replies to them lead to.

What a network expects after a move and what it expects after the best reply to it err differently, and their mean less
than either. Where it is sure of its move nothing is asked twice. So this is a search, of two plies and a few moves;
``connectx.nets.network.judged`` is what a network says without it.
"""

from collections.abc import Callable

import numpy as np

from connectx.nets.afterstates import LEAST_CHANCE, Afterstates, chances_of_moves, doubt_of, policy_of
from connectx.nets.network import REPLIES, Architecture, judged, judged_replies, softmax

# Of 30,000 validation positions of 9 to 17 stones with a choice, see docs/network.md.
DOUBT = 0.02  # the chance that another move has a better result, from which on a move is doubted
MOVES = 3  # that are looked at, the likeliest
SHARE = 0.7  # of what is expected after the best reply, in the mean of both

Forward = Callable[[np.ndarray], dict[str, np.ndarray]]


def second_look(forward: Forward, architecture: Architecture, positions: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Logits of all columns, (n, columns) float32, for n positions in which the game is not over.

    Args:
        forward: the network in any form, as for ``connectx.nets.network.judged``.
        architecture: its; a network that judges positions looks once.
        positions, masks: two (n,) int64.
    """
    if architecture.judges != REPLIES:
        return judged(forward, architecture, positions, masks)["policy"]
    states, outputs = judged_replies(forward, architecture, positions, masks)
    chances, logits = softmax(outputs["score"]), outputs["move"][:, 0]
    moves = chances_of_moves(chances, states)
    policy = policy_of(logits, moves, states)
    asked = doubted(policy, moves, states)
    if not asked.size:
        return policy
    replies, outputs = judged_replies(forward, architecture, states.positions[asked], states.masks[asked])
    after = chances_of_largest(chances_of_moves(softmax(outputs["score"]), replies))
    chances[asked] = geometric_mean(chances[asked], after)
    return policy_of(logits, chances_of_moves(chances, states), states)


def doubted(policy: np.ndarray, moves: np.ndarray, states: Afterstates) -> np.ndarray:
    """Which of the positions to be judged are looked at again: indices in increasing order."""
    likeliest = np.zeros(policy.shape, bool)
    np.put_along_axis(likeliest, np.argsort(-policy, axis=1)[:, :MOVES], True, 1)
    is_doubted = doubt_of(policy, moves) > DOUBT
    return np.flatnonzero(is_doubted[states.rows] & likeliest[states.rows, states.columns] & (states.proven == 0))


def chances_of_largest(moves: np.ndarray) -> np.ndarray:
    """The chances of the score of the best move, (n, scores), as if those of moves did not depend on each other.

    Args:
        moves: as ``chances_of_moves`` gives them.
    """
    at_most = moves.cumsum(2).prod(1)
    return np.diff(at_most, axis=1, prepend=0.0)


def geometric_mean(first: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The weighted mean of two distributions of the same scores, (n, scores), ``SHARE`` of the second."""
    first, after = (np.log(np.maximum(chances, LEAST_CHANCE)) for chances in (first, after))
    return softmax((1 - SHARE) * first + SHARE * after).astype(np.float32)
