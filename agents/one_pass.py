"""torch policy net that looks once: one forward pass a move, no rules but legality; 1.1 million parameters.

``train.py network`` makes the network, for the standard board; on others the course's one-step look-ahead plays. Where
torch is missing or broken, the same network runs in numpy, with the same moves, and stderr says why.
"""

from connectx.policy_net import TorchOrNumpy
from connectx.weights import read_data

network = TorchOrNumpy.from_bytes(read_data("weights/one_pass.bin"))


def agent(obs, config):
    return network.choose(obs, config)
