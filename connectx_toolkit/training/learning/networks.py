"""Networks on batches of games, and the architecture shared by imitation, policy gradient and value."""

import numpy as np
import torch
from torch import Tensor

from connectx.geometry import STANDARD, Geometry
from connectx.nets.encoding import encode_many
from connectx.nets.network import KINDS, Architecture
from connectx.nets.torch_form import Network
from connectx_toolkit.training.games.connectx import bitboards
from connectx_toolkit.training.games.players import Logits

ENCODING = "facts-1"


def parse_pairs(text: str, option_name: str) -> tuple[tuple[str, int], ...]:
    """Names and numbers from 1 on from a text such as "conv:32,dense:64". Raises ValueError if it has another form."""
    try:
        pairs = [part.split(":") for part in text.split(",") if part]
        found = tuple((name, int(number)) for name, number in pairs)
        if any(number < 1 for _, number in found):
            raise ValueError
        return found
    except ValueError:
        example = {"layers": "conv:32,dense:64", "often": "walks11:4,walks13:4"}[option_name]
        raise ValueError(f"{option_name} should look like {example}, not {text!r}") from None


def layers_of(text: str) -> tuple[tuple[str, int], ...]:
    """The layers of an option ``--layers``. Raises ValueError if it has another form or names a kind that is none."""
    layers = parse_pairs(text, "layers")
    if unknown := [kind for kind, _ in layers if kind not in KINDS]:
        raise ValueError(f"layers should be of the kinds {', '.join(KINDS)}, not {unknown[0]!r}")
    return layers


def small_network(head: str, size: int, channels: int, hidden: int, seed: int, encoding: str = ENCODING) -> Network:
    """A fresh network with one head: a convolution and two dense layers, the last with 64 units."""
    layers = (("conv", channels), ("dense", hidden), ("dense", 64))
    torch.manual_seed(seed)
    return Network(Architecture(encoding, layers, ((head, size),)))


def planes_of_boards(boards: np.ndarray, geometry: Geometry = STANDARD, encoding: str = ENCODING) -> Tensor:
    """(n, planes, rows, columns) float32 for boards (n, rows, columns) int8 seen by the side to move."""
    return torch.from_numpy(encode_many(*bitboards(boards, geometry), geometry, encoding)).float()


def device_of(network: Network) -> torch.device:
    """Where a network's parameters lie."""
    return next(network.parameters()).device


def outputs_of(network: Network, boards: np.ndarray) -> dict[str, Tensor]:
    """The outputs of each head, (n, size), for boards (n, rows, columns) int8 seen by the side to move.

    Equal boards, frequent at the beginning of games, are computed only once.
    """
    flat = np.ascontiguousarray(boards).reshape(len(boards), -1)
    rows = flat.view(np.dtype((np.void, flat.shape[1])))[:, 0]
    _, first, index = np.unique(rows, return_index=True, return_inverse=True)
    kind, device = network.architecture, device_of(network)
    outputs = network(planes_of_boards(boards[first], kind.geometry, kind.encoding).to(device))
    places = torch.from_numpy(index).to(device)
    return {name: output[places] for name, output in outputs.items()}


def logits_of(network: Network, head: str = "policy") -> Logits:
    """The outputs of one head as a function of boards, without gradients."""

    def logits(boards: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return outputs_of(network, boards)[head].cpu().numpy()

    return logits
