"""Trained models become agents that play as they do; what cannot is refused in one line. Models load apart."""

import base64
import importlib
import json
import multiprocessing
import pickle
import re
import runpy
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
from sb3_contrib import RecurrentPPO
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

import connectx_toolkit
import connectx_toolkit.training.environments
from connectx_core.steps import Layers
from connectx_core.weights import pack
from connectx_toolkit.builder import comparison
from connectx_toolkit.builder.notebook import torch_model
from connectx_toolkit.builder.notebook.torch_model import Unknown, script_of, steps_of
from connectx_toolkit.cli import build as build_submission
from connectx_toolkit.cli import train
from connectx_toolkit.system.console import DOOR
from connectx_toolkit.training import adopt
from connectx_toolkit.training.opponents import function_of_file
from connectx_toolkit.training.user_model import part_of

pytestmark = pytest.mark.slow
FORKED = pytest.mark.usefixtures("forked")
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
    pytest.importorskip("gym", reason="needs gym: pip install gym")  # some kaggle-environments bring it along
    return part_of(f"{LESSON}:CustomCNN").load()


BOARD = SimpleNamespace(rows=6, columns=7, inarow=4)


def adopted(model: Path, **options: Any) -> adopt.Adopted:
    """The agent my_agent.py beside the model."""
    return adopt.adopt(adopt.Config(model, model.with_name("my_agent.py"), **{"positions": 100} | options))


@pytest.fixture
def nets(tmp_path) -> Path:
    (tmp_path / "nets.py").write_text(NETS)
    return tmp_path / "nets.py"


def net_of(nets: Path) -> nn.Module:
    torch.manual_seed(3)
    network = part_of(f"{nets}:Net").load()()
    network.train()
    for _ in range(3):
        network(torch.rand(16, 2, 6, 7))  # batch norm takes its means
    torch.save(network.state_dict(), nets.with_name("net.pt"))
    return network.eval()


def ppo(path: Path) -> Path:
    return saved(path, PPO, env_of())


@FORKED
def test_full_columns_are_not_played(tmp_path):
    """A model that likes column 3 above all, then 5."""
    model: Any = PPO("MlpPolicy", env_of(), seed=1)
    with torch.no_grad():
        model.policy.action_net.weight *= 1e-3
        model.policy.action_net.bias[:] = torch.tensor([0.0, 1, 2, 9, 3, 7, 1])
    model.num_timesteps = 1
    model.save(tmp_path / "model.zip")
    result = adopted(tmp_path / "model.zip")
    assert result.full > 5 and f"in {result.full} more the model chose a full column" in str(result)
    agent, board = function_of_file(tmp_path / "my_agent.py"), [0] * 42
    for row in range(6):
        assert agent(SimpleNamespace(board=board, mark=1 + row % 2), BOARD) == 3
        board[7 * (5 - row) + 3] = 1 + row % 2
    assert agent(SimpleNamespace(board=board, mark=1), BOARD) == 5
    assert agent(SimpleNamespace(board=[0] * 20, mark=1), SimpleNamespace(rows=4, columns=5, inarow=3)) == 2


def test_a_wrong_agent_is_not_adopted(tmp_path, monkeypatch):
    """The comparison sees it; TorchScript is tried then, and if that is wrong as well, there is no agent."""
    path = ppo(tmp_path / "model.zip")
    config = adopt.Config(Path("PPO"), tmp_path / "my_agent.py", positions=50)

    def wrong_steps(module: nn.Module, scale: float):
        steps, arrays = steps_of(module, scale)
        return steps, arrays | {name: -array for name, array in arrays.items() if name.startswith(f"{len(steps)}.")}

    monkeypatch.setattr(torch_model, "steps_of", wrong_steps)
    result = adopt.adopt(config, PPO.load(path))
    assert result.data.name == "my_agent.pt" and result.reference == "the live PPO.predict(..., deterministic=True)"
    monkeypatch.setattr(torch_model, "script_of", lambda module, *rest: script_of(Negative(module), *rest))
    with pytest.raises(ValueError, match=r"plays otherwise in \d+ of 345 positions, compared with the live PPO"):
        adopt.adopt(config, PPO.load(path))


class Negative(nn.Module):
    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return -self.module(x)


class Masked(nn.Linear):
    """Sets the logits of full columns to -inf itself."""

    def forward(self, x):
        return super().forward(x).masked_fill(x[:, :7] != 0, -torch.inf)


LOOKS = """
def cells(obs, config):
    import numpy as np
    return np.array([*obs.board[:-1], obs.board[-1] + obs.remainingOverageTime], np.float32)


def parts(obs, config):
    return {"board": cells(obs, config), "mark": obs.mark}
"""


def test_a_network_that_masks_full_columns_or_sees_a_dict(tmp_path):
    """Its legal columns decide, and it may see the clock; of several arrays no agent is made."""
    (tmp_path / "looks.py").write_text(LOOKS)
    torch.manual_seed(1)
    config = adopt.Config(Path("Masked"), tmp_path / "my_agent.py", "", f"{tmp_path}/looks.py:cells", positions=50)
    result = adopt.adopt(config, Masked(42, 7))
    assert (result.positions, result.full) == (345, 0)
    assert "has taken 0 steps" not in str(result)
    config.observation = f"{tmp_path}/looks.py:parts"
    with pytest.raises(ValueError, match="gives dict for a position: adopt takes models that see one array of numbers"):
        adopt.adopt(config, Masked(42, 7))


def test_weights_that_were_put_into_a_model(tmp_path):
    """Imitation learning takes no steps of the model's own: a line says so. What keeps a state is refused."""
    assert "it has taken 0 steps: it plays by weights" in str(
        adopted(saved(tmp_path / "a.zip", PPO, env_of(), steps=0))
    )
    model: Any = RecurrentPPO("MlpLstmPolicy", env_of(), policy_kwargs={"lstm_hidden_size": 4, "n_lstm_layers": 1})
    with pytest.raises(ValueError, match="RecurrentPPO keeps a state from move to move"):
        adopt.adopt(adopt.Config(Path("RecurrentPPO"), tmp_path / "b.py", "", "course"), model)


def test_a_live_model_brings_its_normalisation(tmp_path):
    env: Any = VecNormalize(DummyVecEnv([env_of]), clip_obs=1.5)
    model: Any = PPO("MlpPolicy", env, seed=1, n_steps=64, policy_kwargs={"ortho_init": False})
    model.learn(64)
    config = adopt.Config(Path("PPO"), tmp_path / "my_agent.py", "", "course", positions=50)
    result = adopt.adopt(config, model)
    assert result.reference == "the live PPO.predict(..., deterministic=True) behind its VecNormalize"
    agent, board, behind, bare = function_of_file(tmp_path / "my_agent.py"), [0] * 42, [], []
    for cell in range(41, 20, -1):
        board[cell] = 1 + cell % 2
        seen = np.reshape(board, env.observation_space.shape)
        behind.append(agent(SimpleNamespace(board=board, mark=1), BOARD))
        assert behind[-1] == model.predict(env.normalize_obs(seen), deterministic=True)[0]
        bare.append(int(model.predict(seen, deterministic=True)[0]))
    assert behind != bare


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


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """An archive with other contents."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    change(contents)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


class Runs:
    """Runs code when it is unpickled."""

    def __init__(self, code: str):
        self.code = code

    def __reduce__(self):
        return (exec, (self.code,))


def poisoned(path: Path, code: str) -> None:
    """Lets the archive run code when it is loaded."""

    def poison(contents: dict[str, bytes]) -> None:
        pickled = base64.b64encode(pickle.dumps(Runs(code))).decode()
        contents["data"] = json.dumps(json.loads(contents["data"]) | {"x": {":serialized:": pickled}}).encode()

    rewritten(path, poison)


def test_a_model_is_loaded_where_it_sees_nothing_else(tmp_path, monkeypatch, request):
    """What it has pickled runs in the sandbox, which has not the user's files; where there is none, that is said."""
    path, secret = ppo(tmp_path / "model.zip"), tmp_path / "secret"
    secret.touch()
    monkeypatch.setenv("KAGGLE_KEY", "mine")
    no_key = "import os, pathlib\nassert 'KAGGLE_KEY' not in os.environ"
    poisoned(path, f"{no_key}\npathlib.Path({str(secret)!r}).unlink(missing_ok=True)")
    assert not adopted(path).unconfined and secret.exists()
    request.getfixturevalue("forked")
    nowhere = adopt.CHILD.replace("sandbox.enter_sandbox(*sys.argv[1:])", "raise sandbox.NoSandbox('none')")
    monkeypatch.setattr(adopt, "CHILD", nowhere)
    result = adopted(path)
    assert result.unconfined == "none" and "loaded without a sandbox (none)" in str(result) and not secret.exists()


@FORKED
def test_what_a_model_answers_does_not_become_code(tmp_path):
    """Its process may say anything; a process that ends is no answer either."""
    path = ppo(tmp_path / "model.zip")
    facts = {"chosen": [3], "full": 0, "observation": "course", "arrangement": "", "steps": 1, "algorithm": "PPO"}
    answer = pack({}, facts | {"dtype": "x))\nimport os"})
    written = f"import os\nopen(os.environ['HOME'] + '/result.bin', 'wb').write({answer!r})\nos._exit(0)"
    for code, words in ((written, "gives no answers"), ("import os\nos._exit(7)", "ended with code 7")):
        poisoned(path, code)
        with pytest.raises(ValueError, match=words):
            adopted(path)
    (tmp_path / "net.pt").write_bytes(pickle.dumps(Runs("import os\nos._exit(7)")))  # parameters are never unpickled
    with pytest.raises(ValueError, match=r"net.pt (is no file of torch.save|holds a module saved whole)"):
        adopted(tmp_path / "net.pt", observation="course")
    assert not (tmp_path / "my_agent.py").exists()


@FORKED
@pytest.mark.parametrize("is_notebook", [False, True])
def test_classes_that_an_archive_has_by_name_only_come_from_the_users_file(is_notebook, tmp_path, monkeypatch):
    """cloudpickle keeps a class of an importable module by its name. The file then trains nothing."""
    code = EYES_FILE if not is_notebook else EYES_FILE.replace("raise", "q_1.check()\nraise")
    (tmp_path / "eyes_of_mine.py").write_text(EYES_FILE.split("model =")[0])
    monkeypatch.syspath_prepend(str(tmp_path))
    eyes = importlib.import_module("eyes_of_mine").Eyes
    path = saved(tmp_path / "model.zip", PPO, env_of(), policy_kwargs={"features_extractor_class": eyes})
    monkeypatch.delitem(sys.modules, "eyes_of_mine")
    sys.path.remove(str(tmp_path))
    file = tmp_path / "eyes_of_mine.py"
    file.write_text(code)
    if is_notebook:
        cells = [{"cell_type": "code", "source": text} for text in ("from learntools.game_ai.ex4 import *\n", code)]
        file.unlink()
        file = file.with_suffix(".ipynb")
        file.write_text(json.dumps({"cells": cells}))
    assert adopted(path, module=f"{file}:Eyes").reference == 'PPO.load("model.zip").predict(..., deterministic=True)'
    with pytest.raises(ValueError, match=r"No module named 'eyes_of_mine'.*saved by Python .*--module FILE.py:CLASS"):
        adopted(path)


@FORKED
def test_a_model_of_another_python_needs_its_class(tmp_path):
    """The code that cloudpickle keeps is for one Python; what only trains is not looked at."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(EYES_FILE.split("model =")[0], names)
    kwargs = {"features_extractor_class": names["Eyes"], "net_arch": [9], "activation_fn": nn.ELU}
    path = saved(tmp_path / "model.zip", PPO, env_of(), policy_kwargs=kwargs)

    def older(contents: dict[str, bytes]) -> None:
        fields = json.loads(contents["data"])
        fields["lr_schedule"] = {":serialized:": base64.b64encode(b"unreadable").decode()}
        contents["data"] = json.dumps(fields).encode()
        contents["system_info.txt"] = b"- Python: 3.7.12\n- Stable-Baselines3: 2.0.0\n"

    rewritten(path, older)
    with pytest.raises(ValueError, match=r"holds code for another Python. It was saved by Python 3.7.12, Stable-"):
        adopted(path)
    (tmp_path / "eyes.py").write_text(EYES_FILE)
    result = adopted(path, module=f"{tmp_path}/eyes.py:Eyes")
    assert result.reference == 'PPO.load("model.zip").predict(..., deterministic=True) with eyes.py:Eyes {}'
    model: Any = PPO.load(path, custom_objects={"lr_schedule": 0.0})
    agent, board = function_of_file(tmp_path / "my_agent.py"), [0] * 41 + [1]
    expected = int(model.predict(np.array(board).reshape(1, 6, 7), deterministic=True)[0])
    assert agent(SimpleNamespace(board=board, mark=2), BOARD) == expected


def zipped(path: Path, name: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "[]")


@FORKED
def test_archives_that_are_refused(tmp_path, nets):
    """Damaged, foreign, with other spaces, of another observation: each with its own words."""
    path = tmp_path / "model.zip"
    cases: list[tuple[Callable[[], Any], str, dict]] = [
        (lambda: saved(path, PPO, Continuous()), "acts in Box, where Box and Discrete", {}),
        (
            lambda: saved(path, PPO, Shaped(spaces.Box(0, 2, (43,)))),
            r"arrays of shape \(43,\), .*unlike any observation",
            {},
        ),
        (lambda: None, r"shape \(43,\), sides gives \(1, 6, 7\)", {"observation": "sides"}),
        (lambda: None, "defines no Missing at its top level", {"observation": f"{nets}:Missing"}),
        (
            lambda: None,
            r"gives \(1, 1, 6, 7\)\. If its first dimension is a batch of one: .* of shape \(1, 6, 7\), by ",
            {"observation": f"{nets}:course_batched"},
        ),
        (lambda: ppo(path).write_bytes(path.read_bytes()[:-3000]), "or is damaged", {}),
        (lambda: path.write_text("model"), "no model that stable-baselines3 or torch has saved", {}),
        (lambda: zipped(path, "parameter_list"), "of stable-baselines 2, which ran on TensorFlow", {}),
        (lambda: zipped(path, "model.weights.h5"), "is a model of Keras: train it again", {}),
    ]
    for make, words, changes in cases:
        make()
        with pytest.raises((ValueError, OSError), match=words) as caught:
            adopted(path, **changes)
        assert "\n" not in str(caught.value)
    for change, words in (
        (lambda found: found.update({"policy.pth": found["policy.pth"][:5000]}), "cannot be loaded: .*saved by Python"),
        (
            lambda found: found.update(data=found["data"].replace(b"stable_baselines3.common.pol", b"mine.pol")),
            r"a policy of mine\.policies, where that of TRPO, PPO, A2C",
        ),
    ):
        rewritten(ppo(path), change)
        with pytest.raises(ValueError, match=words):
            adopted(path)


@FORKED
def test_torch_files_that_are_refused(nets, monkeypatch):
    net_of(nets)
    path, shown = nets.with_name("net.ckpt"), {"module": f"{nets}:Net", "observation": f"{nets}:encode"}
    state = torch.load(nets.with_name("net.pt"), weights_only=True)
    cases: list[tuple[Any, str, dict]] = [
        (state, r"does not fit .*nets.py:Flat: RuntimeError: Error", shown | {"module": f"{nets}:Flat"}),
        (state, r"takes no observations of shape \(1, 6, 7\)", shown | {"observation": "sides"}),
        (
            state,
            r"takes no observations of shape \(1, 2, 6, 7\): .*batch of one: .*, of shape \(2, 6, 7\), by \[0\]$",
            shown | {"observation": f"{nets}:batched"},
        ),
        (state, "say what it sees by --observation: course or sides", shown | {"observation": ""}),
        (state, "needs its class, --module FILE", shown | {"module": ""}),
        (state | {"policy.bias": state["policy.bias"] / 0}, "are not finite", shown),
        ({key: value * 0 for key, value in state.items()}, "has learnt nothing", shown),
        (
            nn.Linear(84, 7).state_dict(),
            r"gives \(1, 7\) for a position, where 7 scores were expected",
            {"module": f"{nets}:Flat", "observation": f"{nets}:flat"},
        ),
        (nn.Sequential(nn.Linear(2, 2)), r"saved whole.*, torch.save\(net.state_dict\(\), ", shown),
    ]
    for content, words, options in cases:
        torch.save(content, path)
        with pytest.raises((ValueError, OSError), match=words) as caught:
            adopted(path, **options)
        assert "\n" not in str(caught.value)
    torch.jit.script(nn.Linear(84, 7)).save(path)
    with pytest.raises(ValueError, match="is TorchScript, which holds its own code: leave out --module"):
        adopted(path, **shown)
    torch.save(state, path)
    monkeypatch.delenv(DOOR)
    with pytest.raises(ValueError, match=r"needs its class, module=FILE\.py:CLASS, and observation"):  # as in Python
        adopted(path, **shown | {"module": ""})
    path.write_bytes(b"\x80net")
    with pytest.raises(ValueError, match=r"is no file of torch.save, or is damaged"):
        adopted(path, **shown)


@FORKED
def test_a_file_is_known_by_what_it_holds(nets):
    """A checkpoint, and TorchScript, which needs no class; whatever their names end in. Of the user's file the agent
    has the function that it calls, and nothing else was run."""
    network, path = net_of(nets), nets.with_name("net.ckpt")
    torch.save({"epoch": 3, "model_state_dict": network.state_dict()}, path)
    assert adopted(path, module=f"{nets}:Net", observation=f"{nets}:encode").data.name == "my_agent.bin"
    text = path.with_name("my_agent.py").read_text()
    assert "def encode" in text and "raise" not in text and "class Net" not in text
    torch.jit.trace(network, torch.rand(1, 2, 6, 7)).save(path)
    result = adopted(path, observation=f"{nets}:encode")
    assert result.data.name == "my_agent.pt" and result.title.startswith("The network of net.ckpt:")
    assert result.reference == 'torch.jit.load("net.ckpt")' and "observation: what encode of nets.py gives" in str(
        result
    )


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


@FORKED
def test_the_courses_last_lesson_becomes_a_submission(tmp_path, capsys, monkeypatch):
    """Its code as it stands, but with fewer steps; the commands of its guide in docs; what is not overwritten."""
    assert lesson()
    monkeypatch.chdir(tmp_path)
    code = LESSON.read_text().replace("total_timesteps=60000", "total_timesteps=32").replace("verbose=0", "n_steps=32")
    Path("lesson.py").write_text(f'{code}\n\nmodel.save("model")\n')
    lesson_run = multiprocessing.get_context("fork").Process(
        target=runpy.run_path, args=("lesson.py",), kwargs={"run_name": "__main__"}
    )
    lesson_run.start()
    lesson_run.join()
    assert lesson_run.exitcode == 0
    assert train.main(["adopt", "model.zip", "-o", "mine.py"]) == 2
    assert "course (1 the first player's stones, 2 the second's) or sides (1 the mover's" in capsys.readouterr().err
    command = "adopt model.zip -o new/my_ppo_agent.py --observation course --positions 60"
    assert train.main(command.split()) == 0
    printed = " ".join(capsys.readouterr().out.split())
    found = re.search(r"""same moves as PPO.load\("model.zip"\).predict\(.*?\) in (\d+) of \1 positions""", printed)
    assert found and "computed by numpy" in printed and "observation: course" in printed
    assert "python build_submission.py new/my_ppo_agent.py" in printed
    assert printed.endswith(f"in {found[1]} of {found[1]} positions; wrote new/my_ppo_agent.py")
    assert sorted(path.name for path in Path("new").iterdir()) == ["my_ppo_agent.bin", "my_ppo_agent.py"]
    monkeypatch.setattr(comparison, "USUAL_SECONDS", 0.5)
    assert build_submission.main(["new/my_ppo_agent.py", "-o", "submission.py", "--positions", "20"]) == 0
    assert "ACCEPT submission.py" in capsys.readouterr().out
    adopt.check_paths(adopt.Config(Path("model.zip"), Path("new/my_ppo_agent.py")))  # its own it may write again
    Path("mine.py").write_text("# mine\n")
    with pytest.raises(FileExistsError, match=r"mine.py is there already"):
        adopt.check_paths(adopt.Config(Path("model.zip"), Path("mine.py")))
    Path("net.pt").write_bytes(b"a model")  # whose place TorchScript might take
    with pytest.raises(FileExistsError, match=r"net.pt is there already"):
        adopt.check_paths(adopt.Config(Path("net.pt"), Path("net.py")))
