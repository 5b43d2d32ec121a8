"""What a live function is made of: its code, and every value that it reaches, as it is now."""

import array
import collections
import enum
import functools
import importlib
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system.files import ROOT

Side = enum.Enum("Side", "LEFT RIGHT")


class Net:
    def __init__(self, weights):
        self.weights, self.me = weights, self

    def best(self, obs):
        return int(self.weights.sum())


class Slots:
    __slots__ = ("moves",)

    def __init__(self):
        self.moves = 2


MOVES = {"": 3}


def of(agent: Callable) -> str:
    return resolve(agent).fingerprint()


class Held:
    """Values that an agent may reach, each with a change that makes it another."""

    def __init__(self, value, change: Callable):
        self.value, self.change = value, change


def _fill(module: torch.nn.Linear) -> None:
    with torch.no_grad():
        module.weight.fill_(1)


VALUES = {
    "array": Held(np.zeros(3), lambda a: a.__setitem__(0, 1)),
    "objects in an array": Held(np.array([[1], "x"], object), lambda a: a[0].append(2)),
    "list in a dict": Held({"moves": [1]}, lambda d: d["moves"].append(2)),
    "set": Held({"a", "b", "c"}, lambda s: s.add("d")),
    "defaultdict": Held(collections.defaultdict(lambda: 3), lambda d: d.setdefault("x", 1)),
    "deque": Held(collections.deque([1], maxlen=3), lambda d: d.append(2)),
    "instance": Held(Net(np.ones(2)), lambda net: net.weights.fill(2)),
    "torch module": Held(torch.nn.Linear(2, 2, bias=False), _fill),
    "slots": Held(Slots(), lambda slots: setattr(slots, "moves", 3)),
    "array of bytes": Held(array.array("b", [1, 2]), lambda a: a.append(3)),
    "generator of numpy": Held(np.random.default_rng(1), lambda rng: rng.random()),
    "partial": Held(functools.partial(max, [1]), lambda p: p.args[0].append(2)),
}


@pytest.mark.parametrize("name", VALUES)
def test_another_value_is_another_agent(name):
    held = VALUES[name]

    def agent(obs, config):
        return held.value

    before = of(agent)
    assert of(agent) == before
    held.change(held.value)
    assert of(agent) != before


def make(column, kind=Side.LEFT):
    def agent(obs, config):
        return column if kind else 0

    return agent


def test_closures_defaults_and_attributes_count():
    agents = [make(1), make(2), make(1, Side.RIGHT), lambda obs, config=3: 1, lambda obs, config=4: 1]
    marked = make(1)
    marked.book = {"": 3}
    assert len({of(agent) for agent in (*agents, marked)}) == 6
    assert of(make(1)) == of(make(1))


def test_a_global_counts_if_it_is_read_and_not_if_an_attribute_has_its_name(monkeypatch, capsys):
    def agent(obs, config):
        return obs.board.index(0) + len(MOVES)

    before = of(agent)
    for name in ("board", "index"):
        monkeypatch.setitem(globals(), name, (column for column in range(7)))
    assert of(agent) == before and capsys.readouterr().err == ""
    monkeypatch.setitem(MOVES, "1", 2)
    assert of(agent) != before


def test_chance_that_is_seeded_before_every_game_does_not_count():
    def agent(obs, config):
        return random.choice([1, 2])

    before = of(agent)
    random.random()
    assert of(agent) == before


def test_what_cannot_be_seen_is_never_the_same(capsys):
    columns = (column for column in range(7))

    def agent(obs, config):
        return next(columns)

    assert of(agent) != of(agent)
    err = capsys.readouterr().err
    assert (
        "agent cannot be told from other versions, and its games are not used again" in err and "is a generator" in err
    )


def test_what_is_changed_elsewhere_counts(tmp_path, monkeypatch):
    """A module's value, a file that is opened; what asks globals() is alike to nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "heuristics_of_test.py").write_text("SIDE = 0\ndef choose(legal):\n    return legal[SIDE]\n")
    (tmp_path / "side.txt").write_text("0")
    text = """
import heuristics_of_test
SIDE = 0
def free(obs):
    return [c for c in range(7) if obs.board[c] == 0]
def by_module(obs, config):
    return heuristics_of_test.choose(free(obs))
def by_file(obs, config):
    return free(obs)[int(open("side.txt").read())]
def by_globals(obs, config):
    return free(obs)[globals()["SIDE"]]
"""
    (tmp_path / "agents_of_test.py").write_text(text)
    agents: Any = importlib.import_module("agents_of_test")
    every = (agents.by_module, agents.by_file, agents.by_globals)
    before = [of(agent) for agent in every]
    assert [of(agent) for agent in every[:2]] == before[:2]
    agents.heuristics_of_test.SIDE = agents.SIDE = -1
    (tmp_path / "side.txt").write_text("-1")
    assert not {of(agent) for agent in every} & {*before}


CODE = """
from connectx_toolkit.players.spec import resolve
COLUMNS, ORDER = {"a", "b", "c", "left", "right"}, frozenset("xyz")
def agent(obs, config):
    return len(COLUMNS | ORDER) if obs in {"x", "y", "z"} else 0
print(resolve(agent).fingerprint())
"""


def test_every_process_finds_the_same(tmp_path):
    """Whatever the order of its sets."""
    (tmp_path / "script.py").write_text(CODE)
    command, known = [sys.executable, str(tmp_path / "script.py")], {"PYTHONPATH": str(ROOT)}
    runs = [subprocess.check_output(command, env=known | {"PYTHONHASHSEED": seed}, text=True) for seed in "123"]
    assert len(set(runs)) == 1 and len(runs[0].strip()) == 64
