"""PUCT over the policy and value network: a tree search whose leaves the network judges, as long as the clock allows.

The network knows one board; on others a heuristic alpha-beta search plays.
"""

import numpy as np

from connectx.clock import budget_for
from connectx.nets import PlainNetwork
from connectx.position import Position
from connectx.puct import Search
from connectx.search import Searcher
from connectx.weights import read_data

TEMPERATURE = 1.5  # of the policy: above 1, the search trusts it less
BATCH = 8

network = PlainNetwork.from_bytes(read_data("weights/net.bin"))


def probabilities(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Softmax of each row, (n, size)."""
    powers = np.exp((logits - logits.max(1, keepdims=True)) / temperature)
    return powers / powers.sum(1, keepdims=True)


def judge(positions: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The network's policy, (n, columns), and its expected results, (n,): the chance to win less that to lose."""
    outputs = network.judge_many(positions, masks)
    chances = probabilities(outputs["value"])
    return probabilities(outputs["policy"], TEMPERATURE), chances[:, 2] - chances[:, 0]


def agent(obs, config):
    budget = budget_for(obs, config)
    position = Position.from_observation(obs, config)
    if position.geometry == network.architecture.geometry:
        return Search(position, judge, BATCH).run(budget).column
    # Compiling for a board that comes up once would take longer than a move has.
    return Searcher(position.geometry, compiled=False).search(position, budget).column
