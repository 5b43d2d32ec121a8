"""The agent ``policy`` with its network in torch: ``build_submission.py policy --backend torch``."""

import numpy as np
import torch

from connectx.lookahead import one_step_move
from connectx.nets.network import judged, masked_argmax
from connectx.nets.torch_form import Network
from connectx.position import Position
from connectx.weights import read_data

torch.set_num_threads(1)  # several threads on one core are slower than one
network = Network.from_bytes(read_data("weights/net.bin")).eval()


@torch.inference_mode()
def forward(planes: np.ndarray) -> dict[str, np.ndarray]:
    """The network's outputs by head for (n, planes, rows, columns)."""
    return {name: output.numpy() for name, output in network(torch.from_numpy(planes).float()).items()}


def policy(position: Position) -> np.ndarray:
    """The logit of each column: (columns,) float32."""
    stones = np.array([position.position], np.int64), np.array([position.mask], np.int64)
    return judged(forward, network.architecture, *stones)["policy"][0]


def agent(obs, config):
    position = Position.from_observation(obs, config)
    if position.geometry == network.architecture.geometry:
        return masked_argmax(policy(position), position)
    return one_step_move(obs, config)
