"""The most likely legal move of the policy trained by ``train.py actor-critic``, without any search.

The network is for the standard board; on others the course's one-step look-ahead plays.
"""

from connectx_core.lookahead import one_step_move
from connectx_core.network import PlainNetwork, policy_move
from connectx_core.weights import read_data

network = PlainNetwork.from_bytes(read_data("weights/actor_critic.bin"))


def agent(obs, config):
    return policy_move(network, obs, config, one_step_move)
