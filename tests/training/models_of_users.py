"""Models as users train them, for tests/training/test_adopt_models.py.

Each is a file of the user's with `make()`, which returns the model (a stable-baselines3 algorithm or a torch module),
and `look(obs, config)`, which makes what it sees.
"""

_SB3 = """
import numpy as np
import torch
from torch import nn
import gymnasium
from gymnasium import spaces
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from sb3_contrib import QRDQN, MaskablePPO

class World(gymnasium.Env):
    def __init__(self, space):
        self.observation_space, self.action_space = space, spaces.Discrete(7)
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}
    def step(self, action):
        return self.observation_space.sample(), 0.0, True, False, {}
"""

_TORCH = """
import numpy as np
import torch
from torch import nn
"""

# Written from the guide alone, before the adoption's code was read: name -> (the user's file, options of the command).
BLIND = {
    "PPO, ELU, mine minus theirs": (
        _SB3
        + """
def look(obs, config):
    board = np.array(obs.board).reshape(1, config.rows, config.columns)
    return ((board == obs.mark).astype(np.float32) - (board == 3 - obs.mark).astype(np.float32)) * 0.5
def make():
    return PPO("MlpPolicy", World(spaces.Box(-0.5, 0.5, (1, 6, 7), np.float32)), n_steps=8, batch_size=8,
               policy_kwargs=dict(activation_fn=nn.ELU, net_arch=[24, 12]))
""",
        {"observation": "FILE:look"},
    ),
    "A2C, a dict of board and mark": (
        _SB3
        + """
def look(obs, config):
    return {"board": np.array(obs.board, np.float32), "mark": np.array([obs.mark], np.float32)}
def make():
    space = spaces.Dict(board=spaces.Box(0, 2, (42,), np.float32), mark=spaces.Box(1, 2, (1,), np.float32))
    return A2C("MultiInputPolicy", World(space), policy_kwargs=dict(net_arch=[16]))
""",
        {"observation": "FILE:look"},
    ),
    "DQN, one-hot cells": (
        _SB3
        + """
EYE = np.zeros((3, 3), np.float32)
for mark in range(3):
    EYE[mark, mark] = 1.0
def look(obs, config):
    cells = EYE[np.array(obs.board)].reshape(-1)
    return np.concatenate([cells, [np.float32(obs.mark)]]).astype(np.float32)
def make():
    return DQN("MlpPolicy", World(spaces.Box(0, 2, (127,), np.float32)), buffer_size=10,
               policy_kwargs=dict(net_arch=[20, 20]))
""",
        {"observation": "FILE:look"},
    ),
    "QR-DQN, PettingZoo's planes": (
        _SB3
        + """
def look(obs, config):
    board = np.array(obs.board).reshape(6, 7)
    return np.stack([board == obs.mark, board == 3 - obs.mark], axis=2).astype(np.int8)
def make():
    return QRDQN("MlpPolicy", World(spaces.Box(0, 1, (6, 7, 2), np.int8)), buffer_size=10,
                 policy_kwargs=dict(net_arch=[16], n_quantiles=9))
""",
        {"observation": "FILE:look"},
    ),
    "MaskablePPO, residual extractor": (
        _SB3
        + """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one = nn.Conv2d(width, width, 3, padding="same")
        self.two = nn.Conv2d(width, width, 3, padding="same")
        self.act = nn.SiLU()
    def forward(self, x):
        return self.act(x + self.two(self.act(self.one(x))))
class Tower(BaseFeaturesExtractor):
    def __init__(self, observation_space, width=6, blocks=2):
        super().__init__(observation_space, width * 42)
        self.start = nn.Conv2d(3, width, 1)
        self.blocks = nn.ModuleList([Block(width) for _ in range(blocks)])
    def forward(self, observations):
        x = self.start(observations)
        for block in self.blocks:
            x = block(x)
        return torch.flatten(x, start_dim=1)
def look(obs, config):
    board = np.array(obs.board).reshape(6, 7)
    return np.stack([board == 0, board == obs.mark, board == 3 - obs.mark]).astype(np.float32)
def make():
    return MaskablePPO("MlpPolicy", World(spaces.Box(0, 1, (3, 6, 7), np.float32)), n_steps=8, batch_size=8,
                       policy_kwargs=dict(features_extractor_class=Tower, features_extractor_kwargs=dict(width=5),
                                          net_arch=[8]))
""",
        {"module": "FILE:Tower", "observation": "FILE:look"},
    ),
    "PPO, a lambda's leaky activation": (
        _SB3
        + """
def look(obs, config):
    return np.array(obs.board, dtype=np.float32) * (1.0 if obs.mark == 1 else -1.0)
def make():
    return PPO("MlpPolicy", World(spaces.Box(-2, 2, (42,), np.float32)), n_steps=8, batch_size=8,
               policy_kwargs=dict(activation_fn=lambda: nn.LeakyReLU(0.4)))
""",
        {"observation": "FILE:look"},
    ),
    "torch, a GRU over columns": (
        _TORCH
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 10, batch_first=True, bidirectional=True)
        self.score = nn.Linear(20, 1)
    def forward(self, x):
        hidden, _ = self.gru(x.transpose(1, 2))
        return self.score(hidden).squeeze(-1)
def look(obs, config):
    board = np.asarray(obs.board, dtype=np.float32).reshape(config.rows, config.columns)
    return np.where(board == obs.mark, 1, np.where(board == 0, 0, -1)).astype(np.float32)
def make():
    return Net()
""",
        {"module": "FILE:Net", "observation": "FILE:look"},
    ),
    "torch, attention over cells": (
        _TORCH
        + """
class Net(nn.Module):
    def __init__(self, width: int = 8, heads: int = 2):
        super().__init__()
        self.embed = nn.Embedding(3, width)
        self.place = nn.Parameter(torch.randn(42, width))
        self.attend = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(42 * width, 7)
    def forward(self, x):
        h = self.embed(x) + self.place
        mixed, _ = self.attend(h, h, h)
        logits = self.head(self.norm(h + mixed).flatten(1))
        return {"logits": logits, "policy": logits}
def look(obs, config):
    board = np.array(obs.board)
    return np.where(board == 0, 0, np.where(board == obs.mark, 1, 2)).astype(np.int64)
def make():
    return Net(width=12, heads=3)
""",
        {"module": "FILE:Net", "observation": "FILE:look", "arguments": '{"width": 12, "heads": 3}'},
    ),
    "torch, doubles and a table filled in place": (
        _TORCH
        + """
WEIGHT = np.ones((6, 7))
WEIGHT[:, 3] *= 3.0
WEIGHT[0] -= 0.5
CENTRE = []
for column in range(7):
    CENTRE.append(3 - abs(column - 3))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(49, 30).double(), nn.Linear(30, 7).double()
    def forward(self, boards):
        return self.two(torch.tanh(self.one(boards)))
def look(obs, config):
    board = np.array(obs.board).reshape(6, 7)
    mine = np.where(board == obs.mark, 1.0, np.where(board == 0, 0.0, -1.0))
    return np.concatenate([(mine * WEIGHT).ravel(), CENTRE])
def make():
    return Net()
""",
        {"module": "FILE:Net", "observation": "FILE:look"},
    ),
    "torch, duelling heads": (
        _TORCH
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2, 8, 4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.3))
        self.value = nn.Linear(8 * 3 * 4, 1)
        self.advantage = nn.Linear(8 * 3 * 4, 7)
    def forward(self, x):
        h = self.body(x)
        advantage = self.advantage(h)
        return self.value(h) + advantage - advantage.mean(dim=1, keepdim=True)
def look(obs, config):
    board = np.array(obs["board"]).reshape(6, 7)[::-1]
    return np.stack([board == obs["mark"], (board != obs["mark"]) & (board > 0)]).astype(np.float32)
def make():
    return Net()
""",
        {"module": "FILE:Net", "observation": "FILE:look"},
    ),
}
REFUSED_BLIND = {  # what of these cannot be told, and the words for it
    "A2C, a dict of board and mark": "observations of a space Dict, where an array",
    "PPO, a lambda's leaky activation": "activation_fn of your own, .*lambda.*: say which by --activation",
}

SIGNS = """
def look(obs, config):
    board = np.array(obs.board).reshape(1, config.rows, config.columns)
    return np.where(board == 0, 0, np.where(board == obs.mark, 1, -1)).astype(np.float32)
"""
SPACES = {
    "signs": "spaces.Box(-1, 1, (1, 6, 7), np.float32)",
    "flat": "spaces.Box(0, 2, (42,), np.int8)",
    "image": "spaces.Box(0, 255, (1, 6, 7), np.uint8)",
    "pixels": "spaces.Box(0, 255, (1, 36, 42), np.uint8)",
    "last": "spaces.Box(0, 255, (36, 42, 1), np.uint8)",
}
ON_POLICY = {"PPO": "n_steps=8, batch_size=8, ", "MaskablePPO": "n_steps=8, batch_size=8, ", "A2C": ""}
LOOK = {"observation": "FILE:look"}
EXTRACTOR = """
class Eyes(BaseFeaturesExtractor):
    def __init__(self, observation_space, features_dim=12, layer=nn.ELU, **more):
        super().__init__(observation_space, features_dim)
        first, norm = nn.Conv2d(observation_space.shape[0], 4, 3, padding=1), nn.BatchNorm2d(4)
        self.cnn = nn.Sequential(first, norm, layer(), nn.Dropout2d(0.3), nn.Flatten())
        with torch.no_grad():
            width = self.cnn(torch.zeros(2, *observation_space.shape)).shape[1]
        self.linear, self.norm = nn.Linear(width, features_dim), nn.LayerNorm(features_dim)
    def forward(self, observations):
        return torch.tanh(self.norm(self.linear(input=self.cnn(observations))))
"""


def _sb3(
    kwargs: str = "net_arch=[12]",
    *,
    kind: str = "PPO",
    space: str = "signs",
    look: str = SIGNS,
    more: str = "",
    policy: str = "MlpPolicy",
) -> str:
    """A user's file that trains with stable-baselines3. ``look`` is a function, or an expression of board and obs."""
    if "def look" not in look:
        look = f"def look(obs, config):\n    board = np.array(obs.board).reshape(6, 7)\n    return {look}\n"
    options = ON_POLICY.get(kind, "buffer_size=10, ")
    return f"""{_SB3}
from functools import partial
{more}
{look}
def make():
    return {kind}("{policy}", World({SPACES.get(space, space)}), {options}policy_kwargs=dict({kwargs}))
"""


def _torch(
    forward: str,
    layers: str,
    look: str = "np.where(board == 0, 0, np.where(board == obs.mark, 1, -1)).astype(np.float32)",
    more: str = "",
    first: str = "",
) -> tuple[str, dict]:
    """A user's file with a torch module, of 42 cells as (6, 7) unless ``look`` says otherwise, and its options."""
    code = f"""{first}
{_TORCH}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {layers}
    def forward(self, x):
        {forward}
{more}
def look(obs, config):
    board = np.array(obs.board).reshape(6, 7)
    return {look}
def make():
    return Net()
"""
    return code, {"module": "FILE:Net", "observation": "FILE:look"}


_TWO = "self.a, self.o = nn.Linear(42, 20), nn.Linear(20, 7)"
_MINE = "np.where(board > 0, 1 + (board != obs.mark), 0)"
SQUARE = "class Square(nn.Module):\n    def forward(self, x):\n        return x * x.abs()\n"
ENVIRONMENT = """
import kaggle_environments
class ConnectFourGym(gymnasium.Env):
    def step(self, action):
        self.obs, reward, done, _ = self.env.step(int(action))
        return np.array(self.obs["board"]).reshape(1, self.rows, self.columns), 0, done, {}
"""
EYES = dict(LOOK, module="FILE:Eyes")

ADOPTED = {
    # activation functions
    "ReLU": (_sb3("activation_fn=nn.ReLU"), LOOK),
    "GELU, not in numpy": (_sb3("activation_fn=nn.GELU, net_arch=[16]"), LOOK),
    "Softsign": (_sb3("activation_fn=nn.Softsign, net_arch=[16]"), LOOK),
    "no activation": (_sb3("activation_fn=nn.Identity, net_arch=[16]"), LOOK),
    "partial of LeakyReLU": (_sb3("activation_fn=partial(nn.LeakyReLU, 0.6), net_arch=[16]"), LOOK),
    "partial of ELU by keyword": (_sb3("activation_fn=partial(nn.ELU, alpha=0.3), net_arch=[16]", kind="A2C"), LOOK),
    "own activation": (_sb3("activation_fn=Square, net_arch=[9]", more=SQUARE), dict(LOOK, activation="FILE:Square")),
    "own activation beside an extractor": (
        _sb3("activation_fn=Square, net_arch=[9], features_extractor_class=Eyes", more=SQUARE + EXTRACTOR),
        EYES,
    ),
    "lambda": (_sb3("activation_fn=lambda: nn.LeakyReLU(0.4)"), dict(LOOK, activation="nn.LeakyReLU(0.4)")),
    "own function": (
        _sb3("activation_fn=layer", more="def layer():\n    return nn.Hardtanh(-0.5, 2.0)\n"),
        dict(LOOK, activation="FILE:layer"),
    ),
    # algorithms
    "A2C with two towers": (_sb3("net_arch=dict(pi=[9, 8], vf=[7])", kind="A2C"), LOOK),
    "PPO without hidden layers": (_sb3("net_arch=[]"), LOOK),
    "DQN": (_sb3("net_arch=[20], activation_fn=nn.Tanh", kind="DQN"), LOOK),
    "QR-DQN": (_sb3("n_quantiles=5, net_arch=[14, 9], activation_fn=nn.SiLU", kind="QRDQN"), LOOK),
    "MaskablePPO": (_sb3(kind="MaskablePPO"), LOOK),
    # observations
    "course, flat": (_sb3(kind="A2C", space="flat", look="board.ravel()"), {"observation": "course"}),
    "sides, two axes": (_sb3(space="spaces.Box(0, 2, (6, 7), np.int64)", look=_MINE), {"observation": "sides"}),
    "sides, three axes": (
        _sb3(kind="DQN", space="spaces.Box(0, 2, (6, 7, 1), np.uint8)", look=f"({_MINE})[:, :, None]"),
        {"observation": "sides"},
    ),
    "told by the environment's code": (
        _sb3(space="spaces.Box(0, 2, (1, 6, 7), np.int64)", look="board[None]", more=ENVIRONMENT),
        {"observation": "FILE:ConnectFourGym"},
    ),
    "told by the environment's code beside the extractor": (
        _sb3(
            "features_extractor_class=Eyes",
            space="spaces.Box(0, 2, (1, 6, 7), int)",
            look="board[None]",
            more=EXTRACTOR + ENVIRONMENT,
        ),
        {"module": "FILE:Eyes"},
    ),
    "stones-1": (
        _sb3(
            space="spaces.Box(0, 1, (2, 6, 7), np.uint8)",
            look="np.stack([board == obs.mark, board == 3 - obs.mark])[:, ::-1]",
        ),
        {"observation": "stones-1"},
    ),
    "nothing but lines-1": (
        _sb3(
            kind="MaskablePPO",
            space="spaces.Box(0, 1, (9, 6, 7), np.uint8)",
            look="seen(obs, config, 'lines-1')",
            more="from connectx.encoding import seen",
        ),
        {},
    ),
    "unbounded doubles": (
        _sb3(space="spaces.Box(-np.inf, np.inf, (42,), np.float64)", look="(board * (3.0 - 2 * obs.mark) / 3).ravel()"),
        LOOK,
    ),
    # images
    "an image, scaled": (_sb3(space="image", look=f"(({_MINE}) * 100)[None].astype(np.uint8)"), LOOK),
    "an image, not scaled": (
        _sb3("normalize_images=False", space="image", look=f"(({_MINE}) * 9)[None].astype(np.uint8)", kind="A2C"),
        LOOK,
    ),
    "CnnPolicy as it is": (
        _sb3(
            "features_extractor_kwargs=dict(features_dim=8)",
            space="pixels",
            policy="CnnPolicy",
            look=f"(({_MINE}) * 120).astype(np.uint8)[None].repeat(6, 1).repeat(6, 2)",
        ),
        LOOK,
    ),
    "CnnPolicy, channels last": (
        _sb3(
            "features_extractor_kwargs=dict(features_dim=8)",
            space="last",
            policy="CnnPolicy",
            look=f"(({_MINE}) * 120).astype(np.uint8)[:, :, None].repeat(6, 0).repeat(6, 1)",
        ),
        LOOK,
    ),
    # extractors
    "own extractor": (_sb3("features_extractor_class=Eyes", more=EXTRACTOR), EYES),
    "own extractor, options": (
        _sb3(
            "features_extractor_class=Eyes, features_extractor_kwargs=dict(features_dim=7, layer=nn.ReLU)",
            more=EXTRACTOR,
        ),
        EYES,
    ),
    "own extractor, a partial in its options": (
        _sb3(
            "features_extractor_class=Eyes, features_extractor_kwargs=dict(layer=partial(nn.LeakyReLU, 0.5))",
            kind="DQN",
            more=EXTRACTOR,
        ),
        EYES,
    ),
    "own extractor for each head": (
        _sb3("features_extractor_class=Eyes, share_features_extractor=False", kind="MaskablePPO", more=EXTRACTOR),
        EYES,
    ),
    # torch by hand
    "a skip": _torch(
        "h = torch.relu(self.a(x.flatten(1))); return self.o(h + torch.relu(self.b(h)))",
        _TWO + "; self.b = nn.Linear(20, 20)",
    ),
    "a tuple, the board doubled": _torch(
        "h = torch.tanh(self.a(torch.cat([x, x], 1).flatten(1))); return self.o(h), h",
        "self.a, self.o = nn.Linear(84, 20), nn.Linear(20, 7)",
    ),
    "a dict": _torch("h = self.a(x.flatten(1)).sigmoid(); return dict(value=h.sum(1), policy=self.o(h))", _TWO),
    "doubles": _torch("return self.o(torch.tanh(self.a(x.double().flatten(1))))", _TWO + "; self.double()"),
    "called by keyword": _torch(
        "return self.o(input=self.drop(input=torch.tanh(self.a(input=x.flatten(1)))))",
        _TWO + "; self.drop = nn.Dropout(0.4)",
    ),
    "LSTM": _torch(
        "return self.o(self.a(x)[0][:, -1])", "self.a, self.o = nn.LSTM(7, 10, batch_first=True), nn.Linear(10, 7)"
    ),
    "a transformer's layer": _torch(
        "return self.o(self.a(x).flatten(1))",
        "self.a, self.o = nn.TransformerEncoderLayer(7, 1, 16, batch_first=True), nn.Linear(42, 7)",
    ),
    "grouped and dilated convolutions": _torch(
        "return self.o(self.b(torch.relu(self.a(x))).flatten(1))",
        "self.a = nn.Conv2d(2, 4, 3, padding=1, groups=2); "
        "self.b, self.o = nn.Conv2d(4, 4, 2, dilation=2), nn.Linear(80, 7)",
        "np.stack([board == obs.mark, board == 3 - obs.mark]).astype(np.float32)",
    ),
    "planes of bool": _torch(
        "return self.o(torch.relu(self.a(x)).flatten(1))",
        "self.a, self.o = nn.Conv2d(2, 4, 3), nn.Linear(80, 7)",
        "np.stack([board == obs.mark, board == 3 - obs.mark])",
    ),
    "small numbers that wrap": _torch(
        "return self.o(torch.tanh(self.a((x - 1).float().flatten(1) / 64)))", _TWO, f"({_MINE}).astype(np.uint8)"
    ),
    "a table filled in a loop": _torch(
        "return self.o(torch.tanh(self.a(x)))",
        _TWO,
        "(SIGN[board] * (3 - 2 * obs.mark)).ravel()",
        "SIGN = np.zeros(3, np.float32)\nfor mark in (1, 2):\n    SIGN[mark] = 3 - 2 * mark\n",
    ),
    "a table filled by a function": _torch(
        "return self.o(torch.tanh(self.a(x * SCALE)))",
        _TWO,
        "(board * (3 - 2 * obs.mark)).ravel().astype(np.float32)",
        "SCALE = torch.ones(42)\ndef fill(table, by=2.0):\n    table[::2] *= -by\n    table.mul_(0.3)\nfill(SCALE)\n",
    ),
    "a table filled by methods": _torch(
        "return self.o(torch.tanh(self.a(x)))",
        _TWO,
        "board.ravel()[ORDER].astype(np.float32) * SCALE * (3 - 2 * obs.mark)",
        "ORDER = []\nfor row in range(6):\n    ORDER += [7 * row + column for column in range(7)][::-1]\n"
        "ORDER.reverse()\n"
        "SCALE = np.ones(42, np.float32)\nSCALE.fill(0.1)\nnp.put(SCALE, [0, 9], 3.0)\n",
    ),
    "annotations of the future": _torch(
        "return self.o(torch.tanh(self.a(x.flatten(1))))",
        _TWO,
        more="def unused(obs: Nowhere) -> Nothing: ...\n",
        first="from __future__ import annotations",
    ),
}
REFUSED = {
    "two planes, uint8": (
        _sb3(
            space="spaces.Box(0, 1, (2, 6, 7), np.uint8)", look="np.stack([board == obs.mark, board == 3 - obs.mark])"
        ),
        {},
        "3 readings are possible",
    ),
    "two planes, float32": (
        _sb3(
            space="spaces.Box(0, 1, (2, 6, 7), np.float32)", look="np.stack([board == obs.mark, board == 3 - obs.mark])"
        ),
        {},
        "3 readings are possible",
    ),
    "signs": (_sb3(), {}, "2 readings are possible"),
    "the course's shape": (
        _sb3(space="spaces.Box(0, 2, (1, 6, 7), int)", look="board[None]"),
        {},
        "2 readings are possible",
    ),
    "PettingZoo's planes": (
        _sb3(space="spaces.Box(0, 1, (6, 7, 2), np.int8)", look="np.stack([board == 1, board == 2], 2)"),
        {},
        "2 readings are possible",
    ),
    "own activation, not shown": (
        _sb3("activation_fn=Square", more=SQUARE),
        LOOK,
        "activation_fn of your own, .*Square.*--activation",
    ),
    "another activation, shown": (
        _sb3("activation_fn=Square, net_arch=[30, 30]", more=SQUARE),
        dict(LOOK, activation="nn.Tanh"),
        r"plays otherwise than PPO\.load\(.*in \d+ of 60 positions",
    ),
    "own extractor, not shown": (_sb3("features_extractor_class=Eyes", more=EXTRACTOR), LOOK, "--module FILE.py:Eyes"),
    "a reading that is another": (
        _sb3(space="flat", look="board.ravel()"),
        {"observation": "lines-1"},
        r"sees arrays of shape \(42,\), the observation gives \(9, 6, 7\)",
    ),
    "an environment's code that tells nothing": (
        _sb3(more=ENVIRONMENT.replace('self.obs["board"]', "self.mine")),
        {"observation": "FILE:ConnectFourGym"},
        "does not tell what the model sees",
    ),
    "a network that draws": (
        _torch("return self.o(torch.tanh(self.a(x.flatten(1)))) * torch.rand(len(x), 7)", _TWO)[0],
        {"module": "FILE:Net", "observation": "FILE:look"},
        "plays otherwise than Net of lesson.py with net.pt",
    ),
}
