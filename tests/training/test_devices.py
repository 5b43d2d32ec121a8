"""Training on another device, as far as a machine without one can tell: on torch's "meta", whose tensors hold nothing.

Operations that mix them with the processor's tensors fail, as those with CUDA's would. Where their values are asked
for, they are zeros, or true.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from connectx.position import STANDARD
from connectx_toolkit.training.learners import actor_critic, policy_gradient, ppo, value
from connectx_toolkit.training.supervised import Examples, Fit, Parts, small_network
from connectx_toolkit.training.vector_games import ConnectX, play_games, random_player
from tests.training.test_policy_gradient import FitConfig
from tests.training.test_ppo import config as ppo_config

META = torch.device("meta")


def valued(method: Callable, number: float) -> Callable:
    """A method that asks a tensor for its value, which is ``number`` if it has none."""
    return lambda tensor: number if tensor.is_meta else method(tensor)


@pytest.fixture
def elsewhere(monkeypatch):
    """Every method is given "meta" for its option ``--device cuda``, and the processor for "cpu"."""
    to_cpu = torch.Tensor.cpu

    def cpu(tensor: torch.Tensor) -> torch.Tensor:
        return torch.zeros(tensor.shape, dtype=tensor.dtype) if tensor.is_meta else to_cpu(tensor)

    monkeypatch.setattr(torch.Tensor, "cpu", cpu)
    for name, number in (("__float__", 0.0), ("item", 0.0), ("__bool__", True)):
        monkeypatch.setattr(torch.Tensor, name, valued(getattr(torch.Tensor, name), number))
    for module in (actor_critic, policy_gradient, ppo, value):
        monkeypatch.setattr(module, "device_named", lambda name: META if name == "cuda" else torch.device(name))


def devices_of(module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> set[str]:
    """Where parameters, gradients and the optimizer's averages lie."""
    parameters = list(module.parameters())
    states = [state[key] for state in optimizer.state.values() for key in ("exp_avg", "exp_avg_sq")]
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    assert states
    return {tensor.device.type for tensor in (*parameters, *gradients, *states)}


@pytest.mark.parametrize("opponent", ["self", "lookahead@2"])
def test_actor_critic(elsewhere, tmp_path, opponent):
    config = actor_critic.Config(game="6x7k4", opponent=opponent, batch=20, run=tmp_path, device="cuda")
    run = actor_critic.Run(config)
    for _ in range(2):
        run.step()
    assert devices_of(run.network, run.optimizer) == {"meta"}


def test_policy_gradient(elsewhere, tmp_path):
    (tmp_path / "strong.bin").write_bytes(small_network("policy", 7, 4, 8, 1).to_bytes())
    config = policy_gradient.Config(batch=20, opponent=tmp_path / "strong.bin", run=tmp_path, device="cuda")
    run = policy_gradient.Run(config)
    for _ in range(2):
        run.step()
    assert devices_of(run.network, run.optimizer) == {"meta"}


def test_value(elsewhere, tmp_path):
    """The games and the fit."""
    network = small_network("policy", 7, 4, 8, 1).to(META)
    (tmp_path / "policy.bin").write_bytes(small_network("policy", 7, 4, 8, 2).to_bytes())
    assert len(value.further_games(40, network, network, np.random.default_rng(1)).moves) == 40
    assert {p.device.type for p in fit(META, tmp_path).network.parameters()} == {"meta"}


@pytest.mark.filterwarnings("ignore:You are trying to run PPO on the GPU")
@pytest.mark.parametrize("algorithm", ppo.ALGORITHMS)
def test_ppo(elsewhere, tmp_path, algorithm):
    trainer = ppo.Trainer(ppo_config(tmp_path, algorithm=algorithm, opponent="self", device="cuda"))
    policy = trainer.model.policy
    policy.optimizer.param_groups[0]["params"] = list(policy.parameters())  # those moved to "meta", alone, are new ones
    trainer.advance()
    assert devices_of(policy, policy.optimizer) == {"meta"}


def fit(device: torch.device, folder: Path) -> Fit:
    games = ConnectX(60, STANDARD)
    play_games(games, (random_player(np.random.default_rng(1)),) * 2, np.ones(60, bool))
    examples = Examples(games.boards(), (games.winner * games.mover + 1).astype(np.int64))
    network = small_network("value", 3, 4, 8, 1, value.ENCODING).to(device)
    made = Fit(FitConfig(4, batch=16, run=folder), network, Parts(*[examples] * 3), mirrored=lambda answers: answers)
    made.run("accuracy")
    return made
