"""Weights rounded to few whole numbers: less is lost than by rounding to the nearest, and files keep their limit."""

import random

import numpy as np
import pytest
import torch

from connectx.geometry import STANDARD
from connectx.nets.afterstates import afterstates
from connectx.nets.encoding import encode_many
from connectx.nets.network import Architecture, PlainNetwork, to_bytes
from connectx.nets.torch_form import Network
from connectx.weights import Scales, row_scales
from connectx_toolkit.training.learning import quantization
from connectx_toolkit.training.learning.quantization import (
    STEPS,
    Errors,
    rounded,
    scales_of,
    sensitivities,
    spread,
    to_limit,
)
from tests.conftest import random_game

ARCHITECTURE = Architecture("fours-1", (("dense", 160), ("dense", 24)), (("move", 1), ("score", 43)), judges="replies")


@pytest.fixture(scope="module")
def planes() -> np.ndarray:
    """What a network that judges replies sees of random games."""
    rng = random.Random(3)
    positions = [position for _ in range(30) for position in random_game(STANDARD, rng) if position.ply > 3]
    stones, masks = (np.array([getattr(p, name) for p in positions], np.int64) for name in ("position", "mask"))
    states = afterstates(stones, masks, STANDARD)
    return encode_many(states.positions, states.masks, STANDARD, "fours-1")


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    torch.manual_seed(1)
    return Network(ARCHITECTURE).arrays()


@pytest.fixture(scope="module")
def known(arrays, planes) -> dict[int, np.ndarray]:
    return sensitivities(ARCHITECTURE, arrays, planes)


def test_outputs_change_less_than_by_rounding_to_the_nearest():
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(2000, 30)) @ rng.normal(size=(30, 40))  # 40 inputs that 30 numbers decide
    weight = rng.normal(size=(20, 40)).astype(np.float32)
    scales = np.full(20, 0.5, np.float32)
    nearest = np.rint(weight / scales[:, None]) * scales[:, None]
    better = spread(weight, Scales(scales), Errors(inputs.T @ inputs + 60 * np.eye(40)))
    errors = [np.square(inputs @ (found - weight).T).mean() for found in (better, nearest)]
    assert errors[0] < 0.5 * errors[1]
    assert (better / scales[:, None] == np.rint(better / scales[:, None])).all()


def test_inputs_that_tell_nothing_of_each_other_are_rounded_to_the_nearest():
    weight = np.random.default_rng(1).normal(size=(5, 12)).astype(np.float32)
    finest, apart = row_scales(weight), Errors(np.eye(12))
    assert np.allclose(spread(weight, Scales(finest), apart), weight, atol=finest.max() / 2)
    assert (spread(weight, Scales(np.full(5, 0.25)), apart) == np.rint(weight / 0.25) * 0.25).all()
    columns = np.full(12, 2.0)
    assert (spread(weight, Scales(np.full(5, 0.25), columns), apart) == np.rint(weight / 0.5) * 0.5).all()


def test_steps_are_fine_where_an_error_does_harm():
    weight = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
    steps = scales_of(weight, 0.5, np.array([1, 4, 16, 64.0]), np.array([1, 2, 4.0])).each(2)
    assert steps[:-1] / steps[1:] == pytest.approx(2, rel=0.05)  # the root of what they change
    assert steps[:, 1:] / steps[:, :-1] == pytest.approx(2, rel=0.01)
    assert np.log(steps).mean() == pytest.approx(np.log(0.5 * weight.std()), abs=0.01)
    finest = scales_of(weight, 1e-6, np.ones(4), np.ones(3)).each(2)
    assert (np.abs(weight / finest) < 127.2).all() and (np.abs(weight / finest).max(0) > 126.8).all()


def test_how_much_outputs_change_with_a_unit(arrays, planes, known):
    """What the divergence of the scores is, by definition, where a bias changes a little: half its Fisher information
    times the square of the change, in the mean over the positions."""
    unit = int(known[0].argmax())
    changed = arrays | {"0a.bias": arrays["0a.bias"] + 0.1 * (np.arange(160) == unit).astype(np.float32)}
    before, after = (
        torch.log_softmax(torch.from_numpy(PlainNetwork(ARCHITECTURE, kind).forward(planes)["score"]).double(), 1)
        for kind in (arrays, changed)
    )
    divergence = float((before.exp() * (before - after)).sum(1).mean())
    assert divergence == pytest.approx(known[0][unit] * 0.1**2 / 2, rel=0.25)
    assert list(known) == [0]  # the others are small


def test_a_network_changes_less(arrays, planes, known):
    """On positions that did not say how to round, too."""
    before = PlainNetwork(ARCHITECTURE, arrays).forward(planes)
    coarse = rounded(ARCHITECTURE, arrays, planes[: len(planes) // 2], 0.8, known)[0]
    scales = np.maximum(row_scales(arrays["0a.weight"]), 0.8 * arrays["0a.weight"].std())[:, None]
    nearest = arrays | {"0a.weight": np.rint(arrays["0a.weight"] / scales) * scales}
    for part in (slice(0, len(planes) // 2), slice(len(planes) // 2, None)):
        errors = [
            np.square(PlainNetwork(ARCHITECTURE, kind).forward(planes[part])["score"] - before["score"][part]).mean()
            for kind in (coarse, nearest)
        ]
        assert errors[0] < 0.7 * errors[1]


def test_the_file_holds_the_rounded_weights(arrays, planes, known):
    chosen, scales = rounded(ARCHITECTURE, arrays, planes, 0.3, known)
    assert list(scales) == ["0a.weight"]  # the others are small
    network = PlainNetwork.from_bytes(to_bytes(ARCHITECTURE, chosen, "int8", scales))
    assert (chosen["0a.weight"] == network._maps["0a"].T).all()
    assert np.allclose(network._maps["1a"].T, arrays["1a.weight"], atol=row_scales(arrays["1a.weight"]).max() / 2)


def test_the_finest_step_that_the_file_allows(arrays, planes, known):
    chosen = [rounded(ARCHITECTURE, arrays, planes, step, known) for step in STEPS[[10, 11]]]
    sizes = [len(to_bytes(ARCHITECTURE, rows, "int8", scales)) for rows, scales in chosen]
    assert sizes[1] < sizes[0]
    assert len(to_limit(ARCHITECTURE, arrays, planes, sizes[1])) == sizes[1]
    assert len(to_limit(ARCHITECTURE, arrays, planes, sizes[0] - 1)) == sizes[1]


def test_a_limit_that_cannot_be_kept(arrays, planes, monkeypatch):
    monkeypatch.setattr(quantization, "STEPS", STEPS[-2:])
    with pytest.raises(ValueError, match=r"a network of 146,?\d+ parameters takes [\d,]+ bytes at least, not 20,000"):
        to_limit(ARCHITECTURE, arrays, planes, 20_000)
