"""The most likely legal move of the policy that ``train.py policy-gradient`` learned by REINFORCE, without any search.

The network knows one board; on others the course's one-step look-ahead plays.
"""

from agents.n_step import choose
from connectx.clock import budget_for
from connectx.nets import PlainNetwork, masked_argmax
from connectx.position import Position
from connectx.weights import read_data

network = PlainNetwork.from_bytes(read_data("weights/policy_gradient.bin"))


def agent(obs, config):
    position = Position.from_observation(obs, config)
    if position.geometry == network.architecture.geometry:
        return masked_argmax(network.judge(position)["policy"], position)
    return choose(position, 1, budget_for(obs, config))
