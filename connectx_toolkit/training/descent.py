"""Gradient descent as all makers of networks use it, and the devices on which torch computes.

The learning rates warm up and fall as a cosine (Loshchilov and Hutter 2017). What is measured and published is the
exponential average of the weights. Matrix products take bfloat16 where that is quicker.
"""

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from connectx_core.torch_form import Network

WARM_UP = 0.03  # share of the steps
AVERAGED = 1000  # steps over which the weights are averaged
NATIVE_BFLOAT16 = ("avx512_bf16", "amx_bf16", "bf16")  # a processor's names for matrix products of bfloat16


class Descent:
    """A network in training.

    Args:
        optimizers: of its parameters, with their largest learning rates.

    Attributes:
        average: the network with averaged weights.
        step: number of updates.
    """

    def __init__(self, network: Network, optimizers: Sequence[torch.optim.Optimizer], steps: int):
        self.network, self.average, self.optimizers = network, copy.deepcopy(network), optimizers
        self.rates = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]
        self.steps, self.step = steps, 0

    def speed(self) -> float:
        """The share of the learning rates."""
        done = self.step / self.steps
        return min(1.0, (done + 1e-4) / WARM_UP) * (1 + math.cos(math.pi * done)) / 2

    def descend(self, loss: Tensor) -> Tensor:
        """One update by the gradients of this loss; the loss, without them, on its device."""
        speed = self.speed()
        self.network.zero_grad()
        loss.backward()
        for rates, optimizer in zip(self.rates, self.optimizers, strict=True):
            for rate, group in zip(rates, optimizer.param_groups, strict=True):
                group["lr"] = rate * speed
            optimizer.step()
        self.step += 1
        follow_weights(self.average, self.network, min(AVERAGED, self.step + 1))
        return loss.detach()


@torch.no_grad()
def follow_weights(mean: Network, network: Network, steps: int) -> None:
    """Moves the weights of an average over so many steps towards those of the network."""
    torch._foreach_lerp_(list(mean.parameters()), list(network.parameters()), 1 / steps)


def device_named(name: str) -> torch.device:
    """The device of an option ``--device``; "auto" is the best that there is. Raises ValueError if this machine, or
    this build of torch, has it not.
    """
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(kind for kind in ("cuda", "mps", "cpu") if present[kind])
    if not present[name]:
        raise ValueError(f"device {name!r} is not usable here: this torch ({torch.__version__}) finds none")
    return torch.device(name)


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether matrix products of bfloat16 are quicker there: on CUDA, and on processors with instructions for them.

    Such a processor (AVX-512 BF16) made 400 GFLOPS of one core where float32 had 90; others emulate it and are slower.
    """
    if device.type == "cpu":
        capabilities = torch.cpu.get_capabilities()
        return any(capabilities.get(name, False) for name in NATIVE_BFLOAT16)
    return device.type == "cuda"


def mixed_precision(device: torch.device) -> torch.autocast:
    """A context in which matrix products take bfloat16 where they are quicker, and all stays float32 elsewhere."""
    return torch.autocast(device.type, torch.bfloat16, enabled=multiplies_bfloat16(device))
