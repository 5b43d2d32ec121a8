"""Gradient descent: the learning rates' course, and averaged weights."""

import numpy as np
import pytest
import torch

from connectx_core.network import Architecture
from connectx_core.torch_form import Network
from connectx_toolkit.training import descent
from connectx_toolkit.training.descent import Descent


def started(steps: int, rate: float = 0.1) -> Descent:
    torch.manual_seed(1)
    network = Network(Architecture("stones-1", (), (("value", 1),)))
    return Descent(network, [torch.optim.SGD(network.parameters(), rate)], steps)


def test_rates_warm_up_and_fall_as_a_cosine():
    """From next to nothing to their largest in 3% of the steps."""
    run = started(1000)
    for run.step, warm in ((0, 0), (15, 0.5), (30, 1), (265, 1), (515, 1), (1000, 1)):
        assert run.speed() == pytest.approx(warm * (1 + np.cos(np.pi * run.step / 1000)) / 2, abs=0.01)


def test_an_update_and_the_average(monkeypatch):
    """By plain gradient descent a weight moves by the rate times the gradient; the average is the mean of few steps."""
    monkeypatch.setattr(descent, "AVERAGED", 2)
    run = started(100)
    bias, seen = run.network.get_parameter("value_bias"), [0.0]
    for _ in range(3):
        before, speed = bias.item(), run.speed()
        loss = run.descend(5 * bias.sum())
        assert bias.item() == pytest.approx(before - 0.1 * speed * 5)
        assert loss.item() == pytest.approx(5 * before) and not loss.requires_grad
        seen.append(bias.item())
    average = seen[0]
    for weight in seen[1:]:
        average = (average + weight) / 2
    assert run.average.get_parameter("value_bias").item() == pytest.approx(average) and run.step == 3
