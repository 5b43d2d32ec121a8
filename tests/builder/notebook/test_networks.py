"""Trained networks that a running function uses: modules of torch, models of stable-baselines3."""

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

from connectx_core.position import STANDARD
from connectx_toolkit.builder.notebook.predictors import NoPredictor, parts_of
from connectx_toolkit.builder.originals import ask_here
from connectx_toolkit.builder.preflight.trial import sample_questions
from tests.builder.notebook.live_situations import Situation
from tests.builder.notebook.test_live import built, capturing, moves_of, run, written_in

pytestmark = pytest.mark.slow
WORLD = """
import gymnasium, numpy as np, torch
from gymnasium import spaces
class World(gymnasium.Env):
    observation_space, action_space = spaces.Box(0, 2, (1, 6, 7), np.float32), spaces.Discrete(7)
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}
    def step(self, action):
        return self.observation_space.sample(), float(action == 3), True, False, {}
    def action_masks(self):
        return np.ones(7, bool)
# %%
def look(obs):
    return np.array(obs.board, np.float32).reshape(1, 6, 7)
# %%
"""
PPO = f"""{WORLD}
from stable_baselines3 import PPO
model = PPO('MlpPolicy', World(), n_steps=64, batch_size=32, seed=1)
model.learn(128)
# %%
"""
CHOICE = """
def my_agent(obs, config):
    column = int(model.predict(look(obs), deterministic=True)[0])
    columns = free(obs, config)
    return column if column in columns else columns[0]
"""
MASKED = f"""{WORLD}
from sb3_contrib import MaskablePPO
model = MaskablePPO('MlpPolicy', World(), n_steps=64, batch_size=32, seed=1)
model.learn(128)
# %%
def my_agent(obs, config):
    mask = np.array([obs.board[c] == 0 for c in range(7)])
    return model.predict(look(obs), deterministic=True, action_masks=mask)[0].item()
"""
DQN = f"""{WORLD}
from torch import nn
from stable_baselines3 import DQN
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
class CNN(BaseFeaturesExtractor):
    def __init__(self, space, features_dim=32):
        super().__init__(space, features_dim)
        layers = [nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(80, features_dim), nn.ReLU()]
        self.cnn = nn.Sequential(*layers)
    def forward(self, x):
        return self.cnn(x)
options = dict(features_extractor_class=CNN, normalize_images=False)
model = DQN('CnnPolicy', World(), policy_kwargs=options, learning_starts=10, seed=2)
model.learn(60)
# %%{CHOICE}
"""
SEES = """
import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.head = nn.Linear(width * 42, 7)
        self.register_buffer("shift", torch.arange(7.0))
    def forward(self, x):
        return F.softmax(self.head(self.body(x).flatten(1)) + self.shift, dim=1)
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Net(8).to(device)
# %%
optimizer = torch.optim.SGD(net.parameters(), 0.5)
for _ in range(5):
    loss = net(torch.randn(16, 2, 6, 7)).square().sum()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
net.eval();
# %%
@torch.no_grad()
def my_agent(obs, config):
    board = torch.tensor(obs.board).reshape(6, 7)
    planes = torch.stack([board == obs.mark, board == 3 - obs.mark]).float()[None].to(device)
    order = net(planes)[0].argsort(descending=True).tolist()
    return next(c for c in order if c in free(obs, config))
"""
SITUATIONS = {
    "PPO, the likeliest move": Situation(PPO + CHOICE),
    "PPO, masked": Situation(MASKED),
    "DQN with an extractor of its own": Situation(DQN),
    "a module of torch": Situation(SEES),
}
SHIFTED = """
import os
os.environ['SHIFT'] = '3'
# %%
def my_agent(obs, config):
    return nth(obs, config, int(os.environ.get('SHIFT', 0)))
"""
TABLE = """
table = list(range(7))
# %%
def my_agent(obs, config):
    return max(free(obs, config), key=lambda c: table[c])
"""
CHANCES = """
import random
limit = 3
# %%
def my_agent(obs, config):
    return (free(obs, config) * 7)[random.randrange(limit)]
"""
COUNTING = """
turns = 0
seen = {}
# %%
def my_agent(obs, config):
    global turns
    turns += 1
    seen[turns] = obs.step
    return nth(obs, config, turns + len(seen))
"""
PLANNED = """
turns = []
plan = [3, 2, 4]
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    turns.append(obs.step)
    is_planned = turns[0] == 1 and len(turns) < 4 and plan[len(turns) - 1] in columns
    return plan[len(turns) - 1] if is_planned else columns[-1]
"""
STALE = """
from functools import lru_cache
scale = 2
@lru_cache(maxsize=None)
def value(n):
    return n * scale
for n in range(43):
    value(n)
scale = 3
# %%
def my_agent(obs, config):
    return nth(obs, config, value(obs.step))
"""
REPLACED = """
import statistics
statistics.mean = lambda values: values[-1]
# %%
def my_agent(obs, config):
    return statistics.mean(free(obs, config))
"""
WRITES = """
count = 0
# %%
def my_agent(obs, config):
    global count
    count += 1
    column = nth(obs, config, count + sum(map(bool, obs.board)))
    row = max(r for r in range(6) if obs.board[7 * r + column] == 0) if len(obs.board) == 42 else 0
    obs.board[config.columns * row + column] = obs.mark
    obs["step"] = config["columns"] = 1
    return column
"""
WAITS = """
import time
START = time.time()
# %%
def my_agent(obs, config):
    return nth(obs, config, 0 if time.time() - START > 1000.0 else -1)
"""
FINER_CHANCES = CHANCES.replace("3", "30").replace("* 7", "* 31")
OTHERWISE = "the built file and my_agent here play otherwise in "
AGREE = "agree on 295 openings, 12 games, "
DRAWN = PPO + CHOICE.replace("deterministic=True", "deterministic=False")
PROOFS = {  # notebook, what is changed after the files are written, level and words of what the comparison finds
    "draws of a model": (DRAWN, "", "note", "both choose each column as often"),
    "a variable": (SHIFTED, "", "reject", "Not in the file: os.environ as this notebook has it: write the value"),
    "a cache of other values": (STALE, "", "reject", "value's cache held 43 results"),
    "a function of a module, replaced": (REPLACED, "", "reject", "statistics.mean = lambda values: values[-1]"),
    "another table": (TABLE, "table.reverse()", "reject", OTHERWISE),
    "other chances": (CHANCES, "limit = 4", "reject", OTHERWISE),
    "other chances, a little": (FINER_CHANCES, "limit = 31", "reject", "keeps to its own moves"),
    "a move that it plays on the board": (WRITES, "", "pass", "agree on"),
    "a time of the notebook, a day later": (WAITS, "", "reject", "a time of this notebook: START"),
    "a counter": (COUNTING, "", "pass", AGREE),
    "a counter that went on": (COUNTING, "turns = 7", "reject", OTHERWISE),
    "a plan of the second seat": (PLANNED, "plan.reverse()", "reject", OTHERWISE),
}
DRAWS = "draws of a model"
PLAIN = {name: Situation(text) for name, (text, *_) in PROOFS.items() if name != DRAWS}
TRAINED = SITUATIONS | {DRAWS: Situation(PROOFS[DRAWS][0])}


def making(name: str) -> str:
    return f"kernel.make(my_agent, {{place!r}}, {PROOFS[name][1]!r}, {name == DRAWS}, positions=20)"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """All trained networks in one, which imports torch once."""
    folder = tmp_path_factory.mktemp("kernel")
    calls = {name: capturing(each) for name, each in SITUATIONS.items()} | {DRAWS: making(DRAWS)}
    return folder, run(TRAINED, calls, folder)


@pytest.fixture(scope="module")
def plain_kernel(tmp_path_factory):
    """Proofs as a build makes them, in a kernel without torch: its forks take a tenth."""
    folder = tmp_path_factory.mktemp("plain")
    return folder, run(PLAIN, {name: making(name) for name in PLAIN}, folder)


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_file_plays_as_the_network_does(name, kernel, runner):
    folder, errors = kernel
    place = folder / str([*TRAINED].index(name))
    assert not errors[name], "\n".join(errors[name])
    text = written_in(place).agent.read_text()
    assert moves_of(built(place), runner) == json.loads((place / "moves.json").read_text()), text
    assert "stable_baselines3" not in text


@pytest.mark.parametrize("name", PROOFS)
def test_proofs(name, request):
    folder, errors = request.getfixturevalue("kernel" if name == DRAWS else "plain_kernel")
    place = folder / str([*(TRAINED if name == DRAWS else PLAIN)].index(name))
    assert not errors[name], "\n".join(errors[name])
    _, _, level, words = PROOFS[name]
    findings = json.loads((place / "facts.json").read_text())
    texts = " ".join(text for topic, _, text in findings if topic in ("same moves", "notebook"))
    levels = {each for topic, each, _ in findings if topic in ("same moves", "guard")}
    assert level in levels and words in texts, findings
    built_file = place / "submission.py"
    assert built_file.is_file() == (level != "reject")
    assert level == "reject" or "stable_baselines3" not in built_file.read_text()
    modified = "my_agent modifies turns. Each game of the built file starts with its current value"
    assert not name.startswith("a counter") or modified in [text for _, _, text in findings]


def test_a_policy_whose_network_is_not_known():
    def space(kind: str) -> Any:
        return type(kind, (), {"shape": (42,)})()

    policy = SimpleNamespace(training=True, normalize_images=False, to=print)
    policy.set_training_mode = lambda is_training: setattr(policy, "training", is_training)
    model = SimpleNamespace(policy=policy, observation_space=space("Box"), action_space=space("Discrete"), device="cpu")
    with pytest.raises(NoPredictor, match=r"has a policy whose network is not known .*pi_features_extractor"):
        parts_of(model)
    assert policy.training


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("os._exit(3)", "exit code 3"),
        ("os._exit(3) if obs.step else 0", "exit code 3"),
        ("os.kill(os.getpid(), 15)", "SIGTERM"),
        ("sys.exit(3)", "SystemExit"),
    ],
)
def test_a_function_that_ends_its_process_is_not_called_slow(body, words):
    names: dict = {"__name__": "notebook"}
    exec(f"import os, sys\ndef my_agent(obs, config):\n    {body}\n    return 0\n", names)
    assert words in ask_here(names["my_agent"], {}, questions(5)).why


def questions(count: int) -> dict:
    return {"positions": [question.as_json() for question in sample_questions(count, geometries=(STANDARD,))]}


def test_where_there_is_no_fork(monkeypatch):
    """It is asked in this process, in which no name changes."""
    names: dict = {"__name__": "notebook"}
    exec(f"def nth(obs, config, n):\n    return n % 3\n{COUNTING}", names)
    state = {"turns": lambda: names["turns"]}
    forked, seen = ask_here(names["my_agent"], state, questions(5)), names["seen"]
    assert forked.changed == ["turns"] and names["turns"] == 0 and seen == {}
    monkeypatch.setattr("connectx_toolkit.builder.originals.HAS_FORK", False)
    monkeypatch.delattr("os.fork")
    here = ask_here(names["my_agent"], state, questions(5))
    assert [reply["column"] for reply in here.replies] == [reply["column"] for reply in forked.replies]
    assert len(here.replies) == 5 and names["turns"] == 0 and names["seen"] is seen


def test_a_function_that_hangs(monkeypatch):
    def hangs(obs, config):
        time.sleep(100)

    monkeypatch.setattr("connectx_toolkit.builder.originals.HANGING", 0.2)
    assert ask_here(hangs, {}, questions(3)).why == "gives no answer in 0.2 s"
