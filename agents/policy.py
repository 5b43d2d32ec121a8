"""The favourite move of the network of ``train.py distill``, which judges what each move and forced replies lead to.

The network is for the standard board; on others the course's one-step look-ahead plays.
"""

from connectx.lookahead import one_step_move
from connectx.nets.network import PlainNetwork, policy_move
from connectx.weights import read_data

network = PlainNetwork.from_bytes(read_data("weights/net.bin"))


def agent(obs, config):
    return policy_move(network, obs, config, one_step_move)
