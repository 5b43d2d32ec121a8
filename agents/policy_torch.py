"""The agent ``policy`` with its network in torch: ``build_submission.py policy --backend torch``."""

import torch

from agents.n_step import choose
from connectx.clock import budget_for
from connectx.encoding import encode
from connectx.nets import masked_argmax
from connectx.position import Position
from connectx.torch_nets import Network
from connectx.weights import read_data

torch.set_num_threads(1)  # several threads on one core are slower than one
network = Network.from_bytes(read_data("weights/net.bin")).eval()


@torch.inference_mode()
def policy(position: Position) -> list[float]:
    """The network's logit of each column."""
    planes = torch.from_numpy(encode(position, network.architecture.encoding)).float()
    return network(planes)["policy"][0].tolist()


def agent(obs, config):
    position = Position.from_observation(obs, config)
    if position.geometry == network.architecture.geometry:
        return masked_argmax(policy(position), position)
    return choose(position, 1, budget_for(obs, config))
