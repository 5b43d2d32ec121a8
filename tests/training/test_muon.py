"""Muon: its updates are nearly orthogonal, torch's but for rounding, and quick without bfloat16."""

import pytest
import torch

from connectx_toolkit.training.makers import policy_network
from connectx_toolkit.training.makers.policy_network import Muon, orthogonalise
from tests.conftest import needs

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("shape", [(40, 90), (90, 40), (64, 64)])
def test_updates_are_nearly_orthogonal(shape, native, monkeypatch):
    """Whatever the singular values are: here they fall from 1 to a thousandth."""
    monkeypatch.setattr(policy_network, "multiplies_bfloat16", lambda device: native)
    torch.manual_seed(1)
    left, _, right = torch.linalg.svd(torch.randn(shape), full_matrices=False)
    matrix = left * torch.logspace(0, -3, min(shape)) @ right
    values = torch.linalg.svdvals(orthogonalise(matrix[None])[0])
    assert values[: min(shape) // 2].min() > 0.6 and values.max() < 1.3
    assert orthogonalise(torch.zeros(1, *shape)).abs().max() == 0


@needs("torch 2.9: pip install 'torch>=2.9'", hasattr(torch.optim, "Muon"))
@pytest.mark.parametrize("shape", [(40, 90), (90, 40)])
def test_it_is_muon_of_torch(shape, monkeypatch):
    """The same weights after five steps but for rounding, which is less where both multiply bfloat16."""
    torch.manual_seed(1)
    first, gradients = torch.randn(shape), [torch.randn(shape) for _ in range(5)]
    results = {}
    for name, native in (("torch", True), ("bfloat16", True), ("float32", False)):
        monkeypatch.setattr(policy_network, "multiplies_bfloat16", lambda device, native=native: native)
        matrix = torch.nn.Parameter(first.clone())
        theirs = name == "torch"
        optimizer = (
            torch.optim.Muon([matrix], 0.1, 0.5, adjust_lr_fn="match_rms_adamw") if theirs else Muon([matrix], 0.1, 0.5)
        )
        for gradient in gradients:
            matrix.grad = gradient.clone()
            optimizer.step()
        results[name] = matrix.detach() - first
    scale = results["torch"].square().mean().sqrt()
    assert (results["bfloat16"] - results["torch"]).abs().max() < 0.03 * scale
    assert (results["float32"] - results["torch"]).abs().max() < 0.1 * scale
