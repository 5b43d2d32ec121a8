"""The state of torch's modules and optimizers as plain arrays, for ``connectx_toolkit.training.support.checkpoint``."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from connectx_toolkit.training.support.checkpoint import numbered, part


def arrays_of(*optimizers: torch.optim.Optimizer, **modules: torch.nn.Module) -> dict[str, np.ndarray]:
    """Parameters as "MODULE:NAME", and the state that an optimizer has of each as "optimizer:NUMBER:NAME"; that of a
    second optimizer as "optimizer-1:NUMBER:NAME".
    """
    arrays = {
        f"{module}:{name}": value.detach().cpu().numpy()
        for module, kept in modules.items()
        for name, value in kept.state_dict().items()
    }
    for kind, optimizer in zip(kinds(optimizers), optimizers, strict=True):
        for number, state in optimizer.state_dict()["state"].items():
            arrays |= {f"{kind}:{number}:{name}": value.cpu().numpy() for name, value in state.items()}
    return arrays


def restore(arrays: Mapping[str, np.ndarray], *optimizers: torch.optim.Optimizer, **modules: torch.nn.Module) -> None:
    """Restores the arrays of ``arrays_of``. Raises KeyError, or what torch raises if they do not fit."""
    for module, kept in modules.items():
        kept.load_state_dict(tensors(part(arrays, module)))
    for kind, optimizer in zip(kinds(optimizers), optimizers, strict=True):
        state = {number: tensors(values) for number, values in numbered(arrays, kind).items()}
        optimizer.load_state_dict(optimizer.state_dict() | {"state": state})


def kinds(optimizers: tuple[torch.optim.Optimizer, ...]) -> list[str]:
    return [f"optimizer-{index}" if index else "optimizer" for index in range(len(optimizers))]


def tensors(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
