"""Trained models become agents that play as they do; what cannot is refused in one line, and nothing is unpickled."""

import base64
import importlib
import json
import os
import pickle
import random
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from torch import nn

import connectx_toolkit.training.adoption.worker as worker
import connectx_toolkit.training.environments
from connectx.network import Layers
from connectx.position import STANDARD
from connectx.weights import pack
from connectx_toolkit.builder.notebook.torch_model import Unknown, script_of, steps_of
from connectx_toolkit.cli import build as build_submission
from connectx_toolkit.cli import train
from connectx_toolkit.kaggle import sandbox
from connectx_toolkit.training.adoption import adopt, models
from connectx_toolkit.training.adoption.source import source_of
from connectx_toolkit.training.opponents import function_of_file
from tests.conftest import random_game
from tests.oracle import play as played

LESSON = Path(__file__).parents[1] / "corpus" / "lessons" / "deep_reinforcement_learning.py"
NETS = '''
import torch
from torch import nn

WIDTH = 32
raise_if_run = [1][0]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)

    def forward(self, x):
        return torch.relu(self.norm(self.first(x)) + x)


class Net(nn.Module):
    """Residual, with batch norm and two heads."""

    def __init__(self, width=WIDTH):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2, 8, 3, padding=1), nn.ELU(), Block(), nn.Dropout(), nn.Flatten())
        self.hidden, self.norm = nn.Linear(8 * 42, width), nn.LayerNorm(width)
        self.policy, self.value = nn.Linear(2 * width, 7), nn.Linear(width, 1)

    def forward(self, x):
        hidden = torch.tanh(self.norm(self.hidden(self.body(x))))
        return self.policy(torch.cat([hidden, nn.functional.silu(hidden)], dim=1)), self.value(hidden)


class Odd(nn.Module):
    """What no list of layers says."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(84, 7)

    def forward(self, x):
        return {"policy": self.layer(x.reshape(len(x), -1)).softmax(dim=1)}


def encode(obs, config):
    """Planes of the mover's and of the other side's stones."""
    board = torch.tensor(obs["board"]).reshape(config.rows, config.columns)
    return torch.stack([board == obs.mark, board == 3 - obs.mark]).numpy()


def batched(obs, config):
    return encode(obs, config)[None]


def flat(obs, config):
    return encode(obs, config).reshape(1, 84)


def course_batched(obs, config):
    return torch.tensor(obs["board"]).reshape(1, 1, config.rows, config.columns).numpy()


class Flat(nn.Linear):
    def __init__(self):
        super().__init__(84, 7)


raise RuntimeError("the file was run, not its definitions alone")
'''


def env_of(seen: str = "course", **options: Any) -> gymnasium.Env:
    assert connectx_toolkit.training.environments
    return gymnasium.make("ConnectX-v0", observation=seen, **options)


def saved(
    path: Path, kind: Any, env: gymnasium.Env, policy: str = "MlpPolicy", steps: int = 64, **options: Any
) -> Path:
    """A model with random parameters, larger than fresh ones are, that says to have been trained for some steps."""
    model = kind(policy, env, seed=1, **options)
    with torch.no_grad():
        for name, parameter in model.policy.named_parameters():
            if name.startswith("action_net"):
                parameter *= 30
    model.num_timesteps = steps
    model.save(path)
    return path


def lesson() -> Any:
    pytest.importorskip("gym", reason="gym")  # which kaggle-environments brings along, in some versions
    return source_of(f"{LESSON}:CustomCNN").load()


def task_of(model: Path, **changes: Any) -> dict[str, Any]:
    task: dict[str, Any] = {"model": str(model), "output": "my_agent.py", "module": "", "observation": ""}
    task |= {"arguments": {}, "activation": "", "no_proof": False, "trusted": False}
    return task | {"positions": 200, "board": [6, 7, 4]} | changes


@pytest.fixture
def nets(tmp_path) -> Path:
    (tmp_path / "nets.py").write_text(NETS)
    return tmp_path / "nets.py"


def net_of(nets: Path, name: str) -> nn.Module:
    torch.manual_seed(3)
    network = source_of(f"{nets}:{name}").load()()
    network.train()
    for _ in range(3):
        network(torch.rand(16, 2, 6, 7))  # batch norm takes its means
    torch.save(network.state_dict(), nets.with_name("net.pt"))
    return network.eval()


ACTIVATION = {"net_arch": {"pi": [32, 16], "vf": [8]}, "activation_fn": nn.LeakyReLU}
KINDS: dict[str, Callable[[Path], Path]] = {
    "ppo": lambda path: saved(path, PPO, env_of()),
    "cnn": lambda path: saved(path, PPO, env_of(), "CnnPolicy", policy_kwargs={"features_extractor_class": lesson()}),
    "a2c": lambda path: saved(path, A2C, env_of("sides"), policy_kwargs=ACTIVATION),
    "dqn": lambda path: saved(path, DQN, env_of("stones-1"), buffer_size=10, policy_kwargs={"net_arch": [32]}),
    "maskable": lambda path: saved(path, MaskablePPO, env_of("lines-1")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_agents_of_models_play_as_they_do(kind, tmp_path):
    """On 500 positions that the worker looks at, and on one game that is looked at here, by predict itself."""
    path = KINDS[kind](tmp_path / "model.zip")
    module = f"{LESSON}:CustomCNN" if kind == "cnn" else ""
    result = worker.adopt(tmp_path, task_of(path, module=module))
    assert result["files"] == ["my_agent.py", "my_agent.bin"] and not result["script"]
    agent = function_of_file(tmp_path / "my_agent.py")
    source: Any = {"ppo": PPO, "cnn": PPO, "a2c": A2C, "dqn": DQN, "maskable": MaskablePPO}[kind]
    source = source.load(path)
    env: Any = env_of(result["observation"], opponent="random", seat="second")
    seen, info = env.reset(seed=2)
    for _ in range(12):
        stones = env.unwrapped._duels.games.stones[0]
        obs = SimpleNamespace(board=np.where(stones < 0, 2, stones).ravel().tolist(), mark=2, step=0)
        column = agent(obs, SimpleNamespace(rows=6, columns=7, inarow=4))
        masks = {"action_masks": info["action_mask"].astype(bool)} if kind == "maskable" else {}
        expected = int(source.predict(seen, deterministic=True, **masks)[0])
        assert type(column) is int and info["action_mask"][column]
        assert column == expected or not info["action_mask"][expected]
        seen, *_, over, _, info = env.step(column)
        if over:
            seen, info = env.reset()


@pytest.mark.parametrize(("name", "file"), [("Net", "my_agent.bin"), ("Odd", "my_agent.pt")])
def test_agents_of_torch_modules_play_as_they_do(name, file, nets):
    """In numpy, and as TorchScript where numpy has no such layers. The file's own statements are not run."""
    network: Any = net_of(nets, name)
    options = {"module": f"{nets}:{name}", "observation": f"{nets}:encode"}
    result = worker.adopt(nets.parent, task_of(nets.with_name("net.pt"), **options))
    assert result["files"] == ["my_agent.py", file] and bool(result["script"]) == file.endswith(".pt")
    board = [[0] * 7 for _ in range(6)]
    for column in (3, 3, 2, 5, 0):
        board = played(board, column)
    planes = [[[float(cell == mark) for cell in row] for row in board] for mark in (2, 1)]
    output = network(torch.tensor([planes]))
    scores = output["policy"] if name == "Odd" else output[0]
    obs, config = (
        SimpleNamespace(board=[cell for row in board for cell in row], mark=2),
        SimpleNamespace(rows=6, columns=7, inarow=4),
    )
    obs = type("Both", (dict,), {"__getattr__": dict.__getitem__})(vars(obs))
    text = (nets.parent / "my_agent.py").read_text()
    assert "raise" not in text and "class Net" not in text
    assert function_of_file(nets.parent / "my_agent.py")(obs, config) == int(scores.argmax())


def test_full_columns_are_not_played(tmp_path):
    """A model that likes column 3 above all, then 5."""
    model: Any = PPO("MlpPolicy", env_of(), seed=1)
    with torch.no_grad():
        model.policy.action_net.weight *= 1e-3
        model.policy.action_net.bias[:] = torch.tensor([0.0, 1, 2, 9, 3, 7, 1])
    model.num_timesteps = 1
    model.save(tmp_path / "model.zip")
    result = worker.adopt(tmp_path, task_of(tmp_path / "model.zip"))
    assert result["full"] > 20
    agent, board = function_of_file(tmp_path / "my_agent.py"), [0] * 42
    config = SimpleNamespace(rows=6, columns=7, inarow=4)
    for row in range(6):
        assert agent(SimpleNamespace(board=board, mark=1 + row % 2), config) == 3
        board[7 * (5 - row) + 3] = 1 + row % 2
    assert agent(SimpleNamespace(board=board, mark=1), config) == 5
    assert agent(SimpleNamespace(board=[0] * 20, mark=1), SimpleNamespace(rows=4, columns=5, inarow=3)) == 2


def test_a_wrong_agent_is_not_adopted(tmp_path, monkeypatch):
    """The comparison sees it; TorchScript is tried then, and if that is wrong as well, there is no agent."""
    path = KINDS["ppo"](tmp_path / "model.zip")

    def wrong_steps(module: nn.Module, scale: float):
        steps, arrays = steps_of(module, scale)
        return steps, arrays | {name: -array for name, array in arrays.items() if name.startswith(f"{len(steps)}.")}

    monkeypatch.setattr(worker, "steps_of", wrong_steps)
    result = worker.adopt(tmp_path, task_of(path))
    assert result["files"][1] == "my_agent.pt" and "moves differ" in result["script"]
    monkeypatch.setattr(worker, "script_of", lambda module, *rest: script_of(Negative(module), *rest))
    with pytest.raises(ValueError, match=r"plays otherwise than PPO.load\(.*model.zip.* in \d+ of 200 positions"):
        worker.adopt(tmp_path, task_of(path))


class Negative(nn.Module):
    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return -self.module(x)


class Continuous(gymnasium.Env):
    observation_space, action_space = spaces.Box(0, 2, (1, 6, 7), np.int64), spaces.Box(-1, 1, (7,))

    def reset(self, *, seed=None, options=None):
        return self.observation_space.low, {}

    def step(self, action):
        return self.observation_space.low, 0.0, True, False, {}


class Shaped(Continuous):
    action_space: Any = spaces.Discrete(7)

    def __init__(self, space: spaces.Space):
        self.observation_space: Any = space


def test_images_are_divided_by_255(tmp_path):
    """Bytes from 0 to 255 are an image to stable-baselines3: the moves are those of its own predict."""
    model: Any = PPO("MlpPolicy", Shaped(spaces.Box(0, 255, (1, 6, 7), np.uint8)), seed=1)
    with torch.no_grad():
        model.policy.mlp_extractor.policy_net[0].weight *= 300
        model.policy.action_net.weight *= 30
    model.num_timesteps = 64
    model.save(tmp_path / "model.zip")
    worker.adopt(tmp_path, task_of(tmp_path / "model.zip", observation="course"))
    agent, columns = function_of_file(tmp_path / "my_agent.py"), set[int]()
    for position in random_game(STANDARD, random.Random(1)):
        board = position.to_board()
        column = int(model.predict(np.array(board, np.uint8).reshape(1, 6, 7), deterministic=True)[0])
        obs = SimpleNamespace(board=board, mark=1 + position.ply % 2)
        found = agent(obs, SimpleNamespace(rows=6, columns=7, inarow=4))
        assert found == column or column not in position.legal_columns()
        columns.add(column)
    assert len(columns) > 2


EYES_FILE = """
from torch import nn
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
class Eyes(BaseFeaturesExtractor):
    def __init__(self, observation_space, features_dim=9):
        super().__init__(observation_space, features_dim)
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(42, features_dim), nn.ReLU())
    def forward(self, observations):
        return self.net(observations)
model = 1
raise RuntimeError("the file was run to its end")
"""


class Malicious:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """An archive with other contents."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    change(contents)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def test_nothing_is_unpickled(tmp_path):
    """Neither what the archive's JSON holds, but in the sandbox, nor parameters, which are refused."""
    path = KINDS["ppo"](tmp_path / "model.zip")
    evil = pickle.dumps(Malicious(tmp_path / "unpickled"))

    def poison(contents: dict[str, bytes]) -> None:
        fields = json.loads(contents["data"])
        for field in fields.values():
            if isinstance(field, dict):
                field[":serialized:"] = base64.b64encode(evil).decode()
        contents["data"] = json.dumps(fields).encode()

    rewritten(path, poison)
    assert "PPO" not in worker.adopt(tmp_path, task_of(path, no_proof=True))["unproved"]
    assert worker.adopt(tmp_path, task_of(path))["unproved"]  # the sandbox lets it write nowhere
    rewritten(path, lambda contents: contents.update({"policy.pth": evil}))
    with pytest.raises(ValueError, match="or is damaged"):
        worker.adopt(tmp_path, task_of(path))
    (tmp_path / "net.pt").write_bytes(evil)
    with pytest.raises(ValueError, match=r"net.pt"):
        models.state_dict_of(tmp_path / "net.pt")
    assert not (tmp_path / "unpickled").exists()


class Spy:
    """Removes a file when it is unpickled."""

    def __init__(self, path: Path):
        self.code = f"__import__('pathlib').Path({str(path)!r}).unlink(missing_ok=True)"

    def __reduce__(self):
        return (eval, (self.code,))


def test_the_original_is_asked_where_it_sees_nothing_else(tmp_path, monkeypatch):
    """Its pickles run in the sandbox, which has not the user's files; without one they do not run unless allowed."""
    path, secret = KINDS["ppo"](tmp_path / "model.zip"), tmp_path / "secret"
    secret.touch()

    def spy(contents: dict[str, bytes]) -> None:
        fields = json.loads(contents["data"])
        fields["lr_schedule"] = {":type:": "x", ":serialized:": base64.b64encode(pickle.dumps(Spy(secret))).decode()}
        contents["data"] = json.dumps(fields).encode()

    rewritten(path, spy)
    assert not worker.adopt(tmp_path, task_of(path))["unproved"] and secret.exists()
    assert worker.adopt(tmp_path, task_of(path, no_proof=True))["unproved"] == "left out by --no-proof"

    def nowhere(*_: str) -> None:
        raise sandbox.NoPlace("not on this system")

    monkeypatch.setattr(sandbox, "enter", nowhere)
    result = worker.adopt(tmp_path, task_of(path))
    assert "no sandbox here (not on this system)" in result["unproved"] and secret.exists()
    assert "network built again from model.zip" in result["reference"]
    assert not worker.adopt(tmp_path, task_of(path, trusted=True))["unproved"] and not secret.exists()


@pytest.mark.parametrize("is_notebook", [False, True])
def test_classes_that_an_archive_has_by_name_only_come_from_the_users_file(is_notebook, tmp_path, monkeypatch):
    """cloudpickle keeps a class of an importable module by its name. The file then trains nothing."""
    code = EYES_FILE if not is_notebook else EYES_FILE.replace("raise", "q_1.check()\nraise")
    (tmp_path / "eyes_of_mine.py").write_text(EYES_FILE.split("model =")[0])
    monkeypatch.syspath_prepend(str(tmp_path))
    eyes = importlib.import_module("eyes_of_mine").Eyes
    path = saved(tmp_path / "model.zip", PPO, env_of(), policy_kwargs={"features_extractor_class": eyes})
    monkeypatch.delitem(sys.modules, "eyes_of_mine")
    file = tmp_path / "eyes_of_mine.py"
    file.write_text(code)
    if is_notebook:
        cells = [{"cell_type": "code", "source": text} for text in ("from learntools.game_ai.ex4 import *\n", code)]
        file.unlink()
        file = file.with_suffix(".ipynb")
        file.write_text(json.dumps({"cells": cells}))
    result = worker.adopt(tmp_path, task_of(path, module=f"{file}:Eyes"))
    assert not result["unproved"], result["unproved"]


def test_archives_that_are_refused(tmp_path, nets):
    """Damaged, foreign, untrained, with other spaces, of a class that is not shown: each with its own words."""
    path = tmp_path / "model.zip"
    dictionary = spaces.Dict({"board": spaces.Box(0, 2, (1, 6, 7), np.int64)})
    cases: list[tuple[Callable[[], Any], str, dict]] = [
        (lambda: saved(path, PPO, env_of(), steps=0), "is untrained: it has taken 0 steps", {}),
        (lambda: saved(path, PPO, Continuous()), "actions of a space Box, where Discrete", {}),
        (lambda: saved(path, PPO, Shaped(dictionary), "MultiInputPolicy"), "observations of a space Dict", {}),
        (lambda: saved(path, PPO, Shaped(spaces.Box(0, 2, (43,)))), r"arrays of shape \(43,\), as no observation", {}),
        (lambda: None, r"shape \(43,\), the observation gives \(1, 6, 7\)", {"observation": "sides"}),
        (
            lambda: saved(path, PPO, Shaped(spaces.Box(0, 1, (42,)))),
            "course gives .* 0 to 2, .* 0 to 1",
            {"observation": "course"},
        ),
        (lambda: KINDS["ppo"](path), r"arrays of shape \(1, 6, 7\), as no", {"board": [4, 5, 3]}),
        (lambda: saved(path, PPO, env_of(columns=5)), r"shape \(1, 6, 5\), as no", {}),
        (lambda: KINDS["cnn"](path), r"a features extractor CustomCNN of your own: --module FILE.py:CustomCNN", {}),
        (
            lambda: None,
            "are not those of the policy",
            {"module": f"{LESSON}:CustomCNN", "arguments": {"net_arch": [9]}},
        ),
        (
            lambda: None,
            r"names Net, which is no features extractor: for .* BaseFeaturesExtractor that the model was trained with$",
            {"module": f"{nets}:Net"},
        ),
        (
            lambda: KINDS["ppo"](path),
            r"is no features extractor: .* needs no --module$",
            {"module": f"{nets}:encode"},
        ),
        (lambda: None, "defines no Missing at its top level", {"module": f"{LESSON}:Missing"}),
        (lambda: None, "there is no file", {"module": "no_such_file:Net"}),
        (lambda: KINDS["ppo"](path), "observation should be one of course, sides", {"observation": "facts-9"}),
        (
            lambda: None,
            r"gives \(1, 1, 6, 7\)\. Its first dimension is a batch of one: .* of shape \(1, 6, 7\), by ",
            {"observation": f"{nets}:course_batched"},
        ),
        (lambda: path.write_bytes(path.read_bytes()[:-3000]), "or is damaged", {}),
        (lambda: path.write_text("model"), "is no model that stable-baselines3 has saved", {}),
        (lambda: zipfile.ZipFile(path, "w").writestr("data", "[]"), "is no model that stable-baselines3 has saved", {}),
        (
            lambda: zipfile.ZipFile(path, "w").writestr("parameter_list", "[]"),
            "of stable-baselines 2, which ran on T",
            {},
        ),
        (lambda: zipfile.ZipFile(path, "w").writestr("model.weights.h5", ""), "is a model of Keras; adopt takes", {}),
        (lambda: path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(99)), r"is a model of Keras \(HDF5\); adopt takes", {}),
    ]
    for make, words, changes in cases:
        make()
        with pytest.raises((ValueError, OSError), match=words):
            worker.adopt(tmp_path, task_of(path, **changes))
    rewritten(KINDS["ppo"](path), lambda contents: contents.update({"policy.pth": contents["policy.pth"][:5000]}))
    with pytest.raises(ValueError, match="or is damaged"):
        worker.adopt(tmp_path, task_of(path))
    policy = KINDS["ppo"](path)
    rewritten(
        policy, lambda found: found.update(data=found["data"].replace(b"stable_baselines3.common.pol", b"mine.pol"))
    )
    with pytest.raises(ValueError, match=r"a policy of mine\.policies, where that of PPO, A2C"):
        worker.adopt(tmp_path, task_of(path))


def test_torch_files_that_are_refused(nets, monkeypatch):
    net_of(nets, "Net")
    path, shown = nets.with_name("net.pt"), {"module": f"{nets}:Net", "observation": f"{nets}:encode"}

    def whole() -> None:
        torch.save(nn.Sequential(nn.Linear(2, 2)), path)

    state = torch.load(path, weights_only=True)
    cases: list[tuple[Callable[[], Any], str, dict]] = [
        (lambda: None, r"does not fit .*nets.py:Odd: Error", shown | {"module": f"{nets}:Odd"}),
        (
            lambda: None,
            "makes .*, where a torch.nn.Module was expected|cannot be made",
            shown | {"module": f"{nets}:encode"},
        ),
        (lambda: None, "cannot be made.*--arguments", shown | {"arguments": {"depth": 3}}),
        (lambda: None, r"takes no observations of shape \(1, 6, 7\)", shown | {"observation": "sides"}),
        (
            lambda: None,
            r"takes no observations of shape \(1, 2, 6, 7\): .*batch of one: .*, of shape \(2, 6, 7\), by \[0\]$",
            shown | {"observation": f"{nets}:batched"},
        ),
        (lambda: None, "needs --observation: one of course, sides", shown | {"observation": ""}),
        (lambda: None, "needs its class, --module", shown | {"module": ""}),
        (lambda: None, "expected FILE:NAME", shown | {"observation": "file.py:3"}),
        (lambda: None, "defines no decode", shown | {"observation": f"{nets}:decode"}),
        (
            lambda: None,
            "Block does not tell what the model sees",
            shown | {"observation": f"{nets}:Block"},
        ),
        (lambda: torch.save(state | {"policy.bias": state["policy.bias"] / 0}, path), "are not finite", shown),
        (lambda: torch.save({k: v * 0 for k, v in state.items()}, path), "has learnt nothing", shown),
        (
            lambda: torch.save(nn.Linear(84, 7).state_dict(), path),
            r"gives \(1, 7\) for a position, .*batch of one: .*, of shape \(84,\), by",
            {"module": f"{nets}:Flat", "observation": f"{nets}:flat"},
        ),
        (lambda: torch.save([1, 2], path), "holds list, where a state_dict was expected", shown),
        (lambda: path.write_bytes(b"net"), "is no file of torch.save, or is damaged", shown),
        (whole, r'saved whole.*torch.load\("net.pt", weights_only=False\); torch.save\(net.state_dict\(\), ', shown),
    ]
    for make, words, changes in cases:
        make()
        with pytest.raises((ValueError, OSError), match=words) as caught:
            worker.adopt(nets.parent, task_of(path, **changes))
        assert "\n" not in str(caught.value)
    torch.jit.script(nn.Linear(84, 7)).save(path)
    with pytest.raises(ValueError, match="is TorchScript, which holds its own code: leave out --module"):
        worker.adopt(nets.parent, task_of(path, **shown))
    torch.save({"epoch": 3, "model_state_dict": state}, path)
    assert worker.adopt(nets.parent, task_of(path, **shown))["files"]


def test_torchscript_needs_no_class(nets):
    """It is its own original."""
    network, path = net_of(nets, "Net"), nets.with_name("net.pt")
    torch.jit.trace(network, torch.rand(1, 2, 6, 7)).save(path)
    result = worker.adopt(nets.parent, task_of(path, observation=f"{nets}:encode"))
    assert result["files"] == ["my_agent.py", "my_agent.pt"] and not result["unproved"]
    assert result["reference"] == 'torch.jit.load("net.pt")' and result["title"].startswith("The network of net.pt:")


class Arithmetic(nn.Module):
    """What people do to a board before the first layer."""

    def __init__(self, forward):
        super().__init__()
        self.layer, self.prepared = nn.Linear(6, 4), forward

    def forward(self, x):
        return self.layer(self.prepared(x))


PREPARED: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda x: x / 2.0,
    lambda x: x.float() / 255,
    lambda x: 2 * x - 1,
    lambda x: torch.div(x, 4) + x.mul(0.5).add(3),
    lambda x: 1 + torch.sub(x, 0.5),
]


@pytest.mark.parametrize("number", range(len(PREPARED)))
def test_a_number_beside_a_layer_needs_no_torchscript(number):
    network, inputs = Arithmetic(PREPARED[number]), torch.randint(0, 3, (5, 6)).float()
    steps, arrays = steps_of(network.eval())
    outputs = Layers.from_bytes(pack(arrays, {"steps": steps}))(inputs.numpy())
    assert np.abs(outputs - network(inputs).detach().numpy()).max() < 1e-5


@pytest.mark.parametrize("prepared", [lambda x: 1 / (x + 1), lambda x: 1 - x, lambda x: x.add(x, alpha=2)])
def test_other_arithmetic_is_not_mistaken(prepared):
    with pytest.raises(Unknown):
        steps_of(Arithmetic(prepared))


def test_layers_are_torchs():
    """Strides, paddings, missing biases and every activation; what is unknown is said."""
    network = nn.Sequential(
        *(nn.Conv2d(3, 5, (3, 2), stride=(2, 1), padding=(0, 1), bias=False), nn.BatchNorm2d(5), nn.LeakyReLU(0.2)),
        *(nn.Conv2d(5, 4, 1), nn.SiLU(), nn.Conv2d(4, 4, 2), nn.ELU(0.5), nn.Flatten(), nn.LazyLinear(9, bias=False)),
        *(nn.LayerNorm(9), nn.Tanh(), nn.Linear(9, 6), nn.Sigmoid(), nn.BatchNorm1d(6), nn.ReLU(), nn.Identity()),
    )
    torch.manual_seed(1)
    for _ in range(3):
        network(torch.randn(20, 3, 7, 6))
    steps, arrays = steps_of(network.eval(), scale=1 / 255)
    inputs = torch.randint(0, 256, (11, 3, 7, 6))
    outputs = Layers.from_bytes(pack(arrays, {"steps": steps}))(inputs.numpy().astype(np.uint8))
    assert outputs.dtype == np.float32 and np.abs(outputs - network(inputs / 255).detach().numpy()).max() < 1e-5
    for layer in (nn.Softmax(dim=1), nn.Conv2d(4, 4, 3, groups=2), nn.Conv2d(1, 1, 3, padding="same"), nn.Flatten(2)):
        with pytest.raises(Unknown):
            steps_of(nn.Sequential(layer))
    for content, words in ((pack({}, {}), "its meta names none"), (pack({}, {"steps": [["sort", [0], {}]]}), "sort")):
        with pytest.raises(ValueError, match=words):
            Layers.from_bytes(content)


def test_parts_of_files(tmp_path):
    """What a name needs and nothing else; of a notebook, its code."""
    cells = [
        ("code", "%matplotlib inline\nimport math\n!pip install gym\nHALF = 1 / 2\n"),
        ("markdown", "*text*"),
        ("code", "def twice(function):\n    return lambda r: 2 * function(r)\n"),
        ("code", "@twice\ndef area(r):\n    model = math.pi * r**2 * HALF\n    return model\n"),
        ("code", "model = undefined"),
        ("code", "%%bash\nls"),
        ("code", "area(undefined)"),
    ]
    notebook = {"cells": [{"cell_type": kind, "source": text.splitlines(keepends=True)} for kind, text in cells]}
    (tmp_path / "lesson.ipynb").write_text(json.dumps(notebook))
    source = source_of(f"{tmp_path / 'lesson.ipynb'}:area")
    assert source.load()(2) == pytest.approx(4 * 3.14159, rel=1e-4) and "undefined" not in source.text
    for content, words in (("def f(:", "is no Python source"), ("x = 1", "defines no f")):
        (tmp_path / "file.py").write_text(content)
        with pytest.raises(ValueError, match=words):
            source_of(f"{tmp_path / 'file.py'}:f")


def test_readings_are_shown_on_a_board(tmp_path, capfd):
    """With the function to copy, and then what is wrong in one line."""
    path = saved(tmp_path / "model.zip", PPO, Shaped(spaces.Box(-1, 1, (42,), np.int8)))
    assert train.main(["adopt", str(path), "-o", str(tmp_path / "mine.py")]) == 2
    printed = capfd.readouterr().err
    assert "reading 2: 1 the first player's stones, -1 the second's: --observation FILE.py:look" in printed
    assert "    return np.where(board > 1, -1, board).reshape(42,).astype(np.int8)\n" in printed
    assert printed.splitlines()[-1].endswith("2 readings are possible, say by --observation which is yours")
    assert not (tmp_path / "mine.py").exists()


def test_files_run_whole_but_for_what_cannot_matter(tmp_path):
    """The original's values come from the file as it stands: what a part of it misses is seen, training is not run."""
    code = """
import missing_module
TABLE = [1, 2]
list(map(list.append, [TABLE], [3]))
steps = []
for step in range(3):
    steps.append(step)
def look(obs, config):
    return list(TABLE)
LATER = 5
def see(obs, config):
    return LATER
"""
    (tmp_path / "file.py").write_text(code)
    part, names = source_of(f"{tmp_path}/file.py:look"), dict[str, Any]()
    assert part.load()(0, 0) == [1, 2]  # so it is changed unseen
    assert "missing_module" in part.run_whole(tmp_path / "file.py", names)
    assert names["look"](0, 0) == [1, 2, 3] and "steps" not in names
    names.clear()
    assert source_of(f"{tmp_path}/file.py:see").run_whole(tmp_path / "file.py", names)
    assert names["see"](0, 0) == 5 and "TABLE" not in names


def test_the_courses_last_lesson_becomes_a_submission(tmp_path, capsys, monkeypatch):
    """Its code as it stands, but with fewer steps; the commands of its guide in docs; what is not overwritten."""
    assert lesson()
    monkeypatch.chdir(tmp_path)
    code = LESSON.read_text().replace("total_timesteps=60000", "total_timesteps=32").replace("verbose=0", "n_steps=32")
    Path("lesson.py").write_text(f'{code}\n\nmodel.save("model")\n')
    subprocess.run(
        [sys.executable, "lesson.py"], env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True, capture_output=True
    )
    command = "adopt model.zip -o new/my_ppo_agent.py --module lesson.py:CustomCNN --positions 60"
    assert train.main(command.split()) == 0
    printed = capsys.readouterr().out
    found = re.search(
        r"""same moves as PPO.load\("model.zip"\).predict\(..., deterministic=True\) in (\d+) of \1 pos""", printed
    )
    assert found and "computed by numpy" in printed and "it sees course" in printed
    assert "python build_submission.py new/my_ppo_agent.py" in printed
    assert printed.endswith(f"in {found[1]} of {found[1]} positions; wrote new/my_ppo_agent.py\n")
    assert sorted(path.name for path in Path("new").iterdir()) == ["my_ppo_agent.bin", "my_ppo_agent.py"]
    assert build_submission.main(["new/my_ppo_agent.py", "-o", "submission.py", "--positions", "20"]) == 0
    assert "ACCEPT submission.py" in capsys.readouterr().out
    adopt.check_paths(adopt.Config(Path("model.zip"), Path("new/my_ppo_agent.py")))  # its own it may write again
    Path("mine.py").write_text("# mine\n")
    with pytest.raises(FileExistsError, match=r"mine.py is there already"):
        adopt.check_paths(adopt.Config(Path("model.zip"), Path("mine.py")))
    Path("net.pt").write_bytes(b"a model")  # whose place TorchScript might take
    with pytest.raises(FileExistsError, match=r"net.pt is there already"):
        adopt.check_paths(adopt.Config(Path("net.pt"), Path("net.py")))
