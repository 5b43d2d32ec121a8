"""Networks as players of batches of games, and the shape that the learners of the policy-gradient road share."""

import numpy as np
import torch
from torch import Tensor

from connectx.encoding import encode_many
from connectx.geometry import STANDARD, Geometry
from connectx.nets import Architecture
from connectx.torch_nets import Network
from training.games import Games
from training.games.connectx import bitboards
from training.selfplay import Logits, Player

ENCODING = "facts-1"
WIN, DRAW, LOSS = range(3)  # classes of a value head, for the side to move


def small_network(head: str, size: int, channels: int, hidden: int, seed: int) -> Network:
    """A fresh network with one head: a convolution and two dense layers, as large as the book's."""
    layers = (("conv", channels), ("dense", hidden), ("dense", 64))
    torch.manual_seed(seed)
    return Network(Architecture(ENCODING, layers, ((head, size),)))


def planes_of_boards(boards: np.ndarray, geometry: Geometry = STANDARD) -> Tensor:
    """(n, planes, rows, columns) float32 for boards (n, rows, columns) int8 seen by the mover."""
    return torch.from_numpy(encode_many(*bitboards(boards, geometry), geometry, ENCODING)).float()


def logits_of(network: Network, head: str = "policy") -> Logits:
    """The outputs of one head as a function of boards, without gradients."""

    def logits(boards: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return network(planes_of_boards(boards, network.architecture.geometry))[head].numpy()

    return logits


def expected_result(value_logits: np.ndarray) -> np.ndarray:
    """(n,) float: chance of a win less chance of a loss for the side to move, of (n, 3) logits of a value head."""
    chances = np.exp(value_logits - value_logits.max(axis=1, keepdims=True))
    return (chances[:, WIN] - chances[:, LOSS]) / chances.sum(axis=1)


def value_player(logits: Logits) -> Player:
    """Greedy one-ply: the move whose resulting position the value net judges worst for the other side."""

    def player(games: Games, which: np.ndarray) -> np.ndarray:
        children, parents, actions = games.take(which).children()
        worth = np.full((len(which), games.actions), -np.inf)
        worth[parents, actions] = -expected_result(logits(children.boards()))
        return worth.argmax(axis=1)

    return player
