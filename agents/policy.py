"""torch policy net, 1.7 million parameters: evaluates what each move and the replies it forces lead to.

``train.py network`` makes the network, for the standard board; on others the course's one-step
look-ahead plays. Where torch is missing or broken, the same network runs in numpy, with the same moves, and stderr says
why.
"""

from connectx_core.policy_net import TorchOrNumpy
from connectx_core.weights import read_data

network = TorchOrNumpy.from_bytes(read_data("weights/policy.bin"))


def agent(obs, config):
    return network.choose(obs, config)
