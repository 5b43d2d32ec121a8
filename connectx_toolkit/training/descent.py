"""Gradient descent as all makers of networks use it.

The learning rates warm up and fall as a cosine (Loshchilov and Hutter 2017). What is measured and published is the
exponential average of the weights.
"""

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from connectx_core.torch_form import Network

WARM_UP = 0.03  # share of the steps
AVERAGED = 1000  # steps over which the weights are averaged


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
