"""The most likely legal move of the policy trained by ``train.py actor-critic``, without any search.

The network is for the standard board; on others the course's one-step look-ahead plays.
"""

from connectx_core.lookahead import one_step_move
from connectx_core.network import PlainNetwork
from connectx_core.position import Position
from connectx_core.weights import read_data

network = PlainNetwork.from_bytes(read_data("weights/actor_critic.bin"))


def agent(obs, config):
    position = Position.from_observation(obs, config)
    if position.geometry != network.architecture.geometry:
        return one_step_move(obs, config)
    # It sees the board as planes of 0 and 1, one for each side, and the mirror image, too: the logits are the mean.
    logits = network.evaluate(position)["policy"]
    return max(position.legal_columns(), key=lambda column: logits[column])
