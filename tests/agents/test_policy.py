"""The agent ``policy``: the same moves in torch and in numpy, from their sources and built."""

import importlib.util
import random
import sys
from collections.abc import Callable

import numpy as np
import pytest
import torch
from kaggle_environments.agent import get_last_callable

from agents import policy
from connectx_core.afterstates import MoveNetwork
from connectx_core.position import STANDARD, Position
from connectx_toolkit.builder.build import render
from connectx_toolkit.builder.source.inline import inline
from connectx_toolkit.players.spec import catalogue_entry
from connectx_toolkit.system.files import AGENTS
from tests.conftest import observe, random_game

pytestmark = pytest.mark.slow
FAULT = "policy network: runs in numpy, torch raised "
# Symmetric positions: the logits of a move and of its mirror image differ by rounding alone.
SYMMETRIC = [[], [3], [3] * 2, [3] * 3, [3] * 4, [3] * 5, [0, 6], [0, 6, 3], [1, 5, 3, 3], [2, 4, 3], [2, 4, 3, 3, 3]]


def positions(count: int) -> list[Position]:
    """The symmetric ones, then some of random games."""
    rng, found = random.Random(4), [Position.from_moves(moves, STANDARD) for moves in SYMMETRIC]
    while len(found) < count:
        found += rng.sample(list(random_game(STANDARD, rng)), 4)
    return found[:count]


def from_source() -> Callable:
    spec = importlib.util.spec_from_file_location("policy_anew", AGENTS / "policy.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.agent


def built(name: str = "policy") -> Callable:
    text = render(inline(AGENTS / f"{name}.py"))
    return get_last_callable(text, path=text)


def moves(agent: Callable, asked: list[Position]) -> list[int]:
    return [agent(*observe(position)) for position in asked]


def test_the_moves_are_those_of_numpy(capsys):
    asked = positions(300)
    plain = MoveNetwork.from_bytes((AGENTS / "weights" / "policy.bin").read_bytes())
    stones = (np.array([getattr(p, part) for p in asked], np.int64) for part in ("position", "mask"))
    logits = plain.evaluate_many(*stones)["policy"]
    best = (logits > logits.max(1, keepdims=True) - policy.TIE).argmax(1)  # only legal columns come near the best
    assert moves(policy.agent, asked) == best.tolist() and policy.network._in_torch is not None
    assert moves(built("policy"), asked[:60]) == best[:60].tolist() and not capsys.readouterr().err


def no_import(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)


def no_weights(monkeypatch):
    def fails(array):
        raise RuntimeError("Numpy is not available")

    monkeypatch.setattr(torch, "from_numpy", fails)


def no_forward(monkeypatch):
    """The third move and all that follow fail."""
    calls, linear = [], torch.nn.functional.linear

    def fails(*arguments):
        calls.append(arguments)
        if len(calls) > 10:
            raise RuntimeError("could not create a primitive")
        return linear(*arguments)

    monkeypatch.setattr(torch.nn.functional, "linear", fails)


@pytest.mark.parametrize("made", [from_source, built])
@pytest.mark.parametrize("broken", [no_import, no_weights, no_forward])
def test_without_torch_the_moves_are_the_same(broken, made, monkeypatch, capsys):
    asked = positions(16)
    expected = moves(policy.agent, asked)
    capsys.readouterr()
    broken(monkeypatch)
    assert moves(made(), asked) == expected
    assert capsys.readouterr().err.count(FAULT) == 1


def test_torch_uses_one_thread():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        from_source()
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)


def test_its_summary_says_its_size():
    summary = catalogue_entry("policy").summary
    assert f"{policy.network.architecture.size / 1e6:.1f} million parameters" in summary
