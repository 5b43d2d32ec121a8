"""The policy network of ``train.py distill`` alone: the legal column that it likes best, without any search.

The network knows one board; on others the course's one-step look-ahead plays.
"""

from agents import one_step
from connectx.nets import PlainNetwork, policy_move
from connectx.weights import read_data

network = PlainNetwork.from_bytes(read_data("weights/net.bin"))


def agent(obs, config):
    return policy_move(network, obs, config, one_step.agent)
