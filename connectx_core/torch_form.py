"""The torch form of the networks: for training, and for agents that use torch."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from connectx_core.network import Architecture, network_bytes, read_network, trunk


class Network(nn.Module):
    """A network of any architecture. Its parameters have the names and shapes of ``architecture.parameters()``, with
    "_" in place of ".".

    The trunk is initialised as in He et al. (2015). The heads begin small, so that the outputs of a fresh network are
    near 0.
    """

    def __init__(self, architecture: Architecture):
        super().__init__()
        self.architecture = architecture
        for name, shape in architecture.parameters().items():
            value = torch.zeros(shape)
            if len(shape) > 1:
                fan_in = value[0].numel()
                small = name.split(".")[0] in dict(architecture.heads)
                nn.init.normal_(value, std=(0.1 if small else 1.0) * (2 / fan_in) ** 0.5)
            self.register_parameter(name.replace(".", "_"), nn.Parameter(value))

    @classmethod
    def from_bytes(cls, content: bytes) -> "Network":
        """The network of a file. Raises as ``connectx_core.network.read_network``."""
        return cls.from_arrays(*read_network(content))

    @classmethod
    def from_arrays(cls, architecture: Architecture, arrays: dict[str, np.ndarray]) -> "Network":
        """The network with these parameters, float32, as ``arrays`` gives them."""
        network = cls(architecture)
        network.load_state_dict({name.replace(".", "_"): torch.from_numpy(a) for name, a in arrays.items()})
        return network

    def to_bytes(self, dtype: str = "float16") -> bytes:
        """As ``connectx_core.network.network_bytes``: ``PlainNetwork`` and ``read_network`` read it."""
        return network_bytes(self.architecture, self.arrays(), dtype)

    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters by name, float32."""
        state = {name: value.detach().cpu().numpy() for name, value in self.named_parameters()}
        return {name: state[name.replace(".", "_")] for name in self.architecture.parameters()}

    @torch.inference_mode()
    def outputs(self, planes: np.ndarray) -> dict[str, np.ndarray]:
        """As ``connectx_core.network.PlainNetwork.forward``."""
        return {name: output.numpy() for name, output in self(torch.from_numpy(planes).float()).items()}

    def _map(self, name: str) -> tuple[Tensor, Tensor]:
        return getattr(self, f"{name}_weight"), getattr(self, f"{name}_bias")

    def window(self, name: str, x: Tensor) -> Tensor:
        return functional.conv2d(x, *self._map(name), padding=1)

    def dense(self, name: str, x: Tensor) -> Tensor:
        return functional.linear(x.flatten(1), *self._map(name))

    relu = staticmethod(functional.relu)

    def forward(self, planes: Tensor) -> dict[str, Tensor]:
        """The outputs of each head, as ``PlainNetwork.forward``, for (n, planes, rows, columns) float32."""
        x = trunk(self, self.architecture.layers, planes).flatten(1)
        return {name: functional.linear(x, *self._map(name)) for name, _ in self.architecture.heads}
