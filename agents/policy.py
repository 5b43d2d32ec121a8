"""The favourite move of the network of ``train.py distill``, which sees what moves lead to; where it doubts, also what
replies to them lead to. Beyond these two plies and forced replies, only threats are searched.

The network is for the standard board; on others the course's one-step look-ahead plays.
"""

import numpy as np

from connectx.lookahead import one_step_move
from connectx.nets.network import PlainNetwork, masked_argmax
from connectx.nets.second_look import second_look
from connectx.position import Position
from connectx.weights import read_data

network = PlainNetwork.from_bytes(read_data("weights/net.bin"))


def best_column(position: Position) -> int:
    """The network's favourite move, after a second look where it doubts."""
    stones = np.array([position.position], np.int64), np.array([position.mask], np.int64)
    return masked_argmax(second_look(network.forward, network.architecture, *stones)[0], position)


def agent(obs, config):
    position = Position.from_observation(obs, config)
    if position.geometry == network.architecture.geometry:
        return best_column(position)
    return one_step_move(obs, config)
