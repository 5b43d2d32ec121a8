"""Runs the network of ``agents/policy.py`` in torch, or where torch does not work in numpy, with the same moves."""

import sys
from collections.abc import Callable

import numpy as np

from connectx_core.afterstates import MoveNetwork
from connectx_core.network import Architecture


class TorchOrNumpy(MoveNetwork):
    """A network that runs in torch until that raises anything, then in numpy."""

    def __init__(self, architecture: Architecture, arrays: dict[str, np.ndarray]):
        super().__init__(architecture, arrays)
        self._in_torch: Callable[[np.ndarray], dict[str, np.ndarray]] | None = None
        try:
            import torch

            from connectx_core.torch_form import Network

            torch.set_num_threads(1)  # several threads on one core are slower than one
            self._in_torch = Network.from_arrays(architecture, arrays).outputs
        except Exception as fault:  # also OSError: a library that does not load
            self._go_on_in_numpy(fault)

    def forward(self, planes: np.ndarray) -> dict[str, np.ndarray]:
        if self._in_torch is not None:
            try:
                return self._in_torch(planes)
            except Exception as fault:
                self._go_on_in_numpy(fault)
        return super().forward(planes)

    def _go_on_in_numpy(self, fault: Exception) -> None:
        self._in_torch = None
        print(f"policy network: runs in numpy, torch raised {type(fault).__name__}: {fault}", file=sys.stderr)
