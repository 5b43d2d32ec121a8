"""How much a network doubts its own moves: what labels are worth most to it, before a solver is asked.

This is the uncertainty sampling of active learning (Lewis and Gale 1994). A position is chosen by what the network
expects of its moves, never by their scores, so that what is learnt of a chosen position is as true as of any other.
"""

import numpy as np

from connectx.nets.afterstates import chances_of_best, chances_of_moves, doubt_of, policy_of
from connectx.nets.network import PlainNetwork, softmax

DOUBTS = 2  # changes whenever the doubts of a network do
SCORES, RESULTS = "scores", "results"
# A position is doubtful from here on. Of 12,000 validation positions of the mix "walks", "scores" are 19%, which hold
# 70% of the moves by which the network of commit 5f1fcb1 gives up the result, and 62% of those that are not perfect
# (29, 87 and 74% of the network of 2026-11-22, which chose its moves by expected scores). Of 15,000 of 8 to 13 stones,
# "results" are 10%, which hold 69 and 23%: half as many for as many lost results.
DOUBTFUL = {SCORES: 0.3, RESULTS: 0.1}


def doubts(network: PlainNetwork, positions: np.ndarray, masks: np.ndarray, kind: str = SCORES) -> np.ndarray:
    """The chance that some move has a better result than the network's: (n,), 0 to 1.

    Of the kind "scores", plus the chance that some move has a better score: 0 to 2. Scores of moves are taken to be
    independent of each other.

    Args:
        network: one that judges replies.
        positions, masks: two (n,) int64; nobody may have a line.
    """
    states, outputs = network.judge_replies(positions, masks)
    moves = chances_of_moves(softmax(outputs["score"]), states)
    policy = policy_of(outputs["move"][:, 0], moves, states)
    doubt = doubt_of(policy, moves)
    return doubt if kind == RESULTS else doubt + 1 - chances_of_best(moves)[np.arange(len(masks)), policy.argmax(1)]
