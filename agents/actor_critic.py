"""The most likely legal move of the policy that ``train.py actor-critic`` learned on the standard board.

On other boards, for which the network is not made, it plays as ``middle`` does.
"""

from agents import middle
from connectx.nets import PlainNetwork, policy_move
from connectx.weights import read_data

network = PlainNetwork.from_bytes(read_data("weights/actor_critic.bin"))


def agent(obs, config):
    return policy_move(network, obs, config, middle.agent)
