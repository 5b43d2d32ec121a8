"""The favourite move of the network of ``train.py distill``, which sees what moves lead to; no search but of threats.

The network is for the standard board; on others the course's one-step look-ahead plays.
"""

from agents import one_step
from connectx.nets import PlainNetwork, policy_move
from connectx.weights import read_data

network = PlainNetwork.from_bytes(read_data("weights/net.bin"))


def agent(obs, config):
    return policy_move(network, obs, config, one_step.agent)
