"""Greedy one-ply search with the value network of ``train.py value``: the move that leaves the opponent worst off.

A move that wins at once is played without asking the network, which is for the standard board; on others the course's
one-step look-ahead plays.
"""

import numpy as np

from connectx_core.lookahead import one_step_move
from connectx_core.network import PlainNetwork, expected_result
from connectx_core.position import Position
from connectx_core.weights import read_data

network = PlainNetwork.from_bytes(read_data("weights/value_greedy.bin"))


def greedy_column(position: Position) -> int:
    """The column after which the network evaluates the position as worst for the side to move."""
    columns = position.legal_columns()
    children = [position.play(column) for column in columns]
    positions = np.array([child.position for child in children], np.int64)  # the stones of the side to move, as bits
    masks = np.array([child.mask for child in children], np.int64)  # those of both sides
    # Chance to win minus chance to lose, of the opponent, who is to move.
    results = expected_result(network.evaluate_many(positions, masks)["value"])
    return columns[int(results.argmin())]


def agent(obs, config):
    position = Position.from_observation(obs, config)
    wins = position.winning_columns()
    if wins:
        return wins[0]
    if position.geometry == network.architecture.geometry:
        return greedy_column(position)
    return one_step_move(obs, config)
