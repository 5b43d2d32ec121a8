"""How much a network doubts its own moves: what labels are worth most to it, before a solver is asked.

This is the uncertainty sampling of active learning (Lewis and Gale 1994). A position is chosen by what the network
expects of its moves, never by their scores, so that what is learnt of a chosen position is as true as of any other.
"""

import numpy as np

from connectx.afterstates import UNKNOWN, move_logits, policy_of
from connectx.nets import PlainNetwork, softmax

# A position is doubtful from here on. Of 12,000 validation positions of the mix "walks" that is 29%, which hold 87% of
# the moves by which the network that shipped on 2026-11-22 gives up the result, and 74% of those that are not perfect.
DOUBTFUL = 0.3


def doubts(network: PlainNetwork, positions: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The chance that some move has a better score than the network's, plus that one has a better result: (n,), 0 to 2.

    Scores of moves are taken to be independent of each other.

    Args:
        network: one that judges replies.
        positions, masks: two (n,) int64; nobody may have a line.
    """
    states, outputs = network.judge_replies(positions, masks)
    chances, rows = softmax(outputs["score"]), np.arange(len(masks))
    logits = move_logits(outputs["move"][:, 0], chances, network.architecture.geometry)
    chosen = policy_of(logits, states).argmax(1)
    scores = np.zeros((*states.scores.shape, chances.shape[1]), np.float32)  # (n, columns, scores): the mover's chances
    scores[states.rows, states.columns] = np.where(states.is_own[:, None], chances, chances[:, ::-1])
    most = chances.shape[1] // 2
    known_rows, columns = np.nonzero(states.scores != UNKNOWN)
    scores[known_rows, columns, states.scores[known_rows, columns].astype(np.int64) + most] = 1
    results = np.stack([scores[..., :most].sum(2), scores[..., most], scores[..., most + 1 :].sum(2)], 2)
    doubt = np.zeros(len(masks))
    for parts in (scores, results):
        mine = parts[rows, chosen]
        better = np.einsum("ncs,ns->nc", parts, mine.cumsum(1) - mine)
        better[rows, chosen] = 0
        doubt += 1 - (1 - better).prod(1)
    return doubt
