"""Models as users train them, one for each way in which adoption treats one, for tests/training/test_adopt_models.py.

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

SIGNS = """
def look(obs, config):
    board = np.array(obs.board).reshape(1, config.rows, config.columns)
    return np.where(board == 0, 0, np.where(board == obs.mark, 1, -1)).astype(np.float32)
"""
SPACES = {
    "signs": "spaces.Box(-1, 1, (1, 6, 7), np.float32)",
    "flat": "spaces.Box(0, 2, (42,), np.int8)",
    "image": "spaces.Box(0, 255, (1, 6, 7), np.uint8)",
    "last": "spaces.Box(0, 255, (36, 42, 1), np.uint8)",
}
ON_POLICY = {"PPO": "n_steps=8, batch_size=8, ", "MaskablePPO": "n_steps=8, batch_size=8, ", "A2C": ""}
LOOK = {"observation": "FILE:look"}


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

ADOPTED = {  # name -> (the user's file, options of the command)
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
        LOOK,
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
    "sides, three axes": (
        _sb3(kind="DQN", space="spaces.Box(0, 2, (6, 7, 1), np.uint8)", look=f"({_MINE})[:, :, None]"),
        {"observation": "sides"},
    ),
    "an image, not scaled": (
        _sb3("normalize_images=False", space="image", look=f"(({_MINE}) * 9)[None].astype(np.uint8)", kind="A2C"),
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
    "LSTM": _torch(
        "return self.o(self.a(x)[0][:, -1])", "self.a, self.o = nn.LSTM(7, 10, batch_first=True), nn.Linear(10, 7)"
    ),
    "small numbers that wrap": _torch(
        "return self.o(torch.tanh(self.a((x - 1).float().flatten(1) / 64)))", _TWO, f"({_MINE}).astype(np.uint8)"
    ),
    "a table filled by methods": _torch(
        "return self.o(torch.tanh(self.a(x)))",
        _TWO,
        "board.ravel()[ORDER].astype(np.float32) * SCALE * (3 - 2 * obs.mark)",
        "ORDER = []\nfor row in range(6):\n    ORDER += [7 * row + column for column in range(7)][::-1]\n"
        "ORDER.reverse()\n"
        "SCALE = np.ones(42, np.float32)\nSCALE.fill(0.1)\nnp.put(SCALE, [0, 9], 3.0)\n",
    ),
}
REFUSED = {
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
        "sees Dict and acts in Discrete, where Box and Discrete were expected",
    ),
    "the course's shape": (
        _sb3(space="spaces.Box(0, 2, (1, 6, 7), int)", look="board[None]"),
        {},
        "course .1 the first player's stones, 2 the second's. or sides .1 the mover's stones, 2 the other's. or FILE",
    ),
    "a network that draws": (
        _torch("return self.o(torch.tanh(self.a(x.flatten(1)))) * torch.rand(len(x), 7)", _TWO)[0],
        {"module": "FILE:Net", "observation": "FILE:look"},
        r"plays otherwise in \d+ of 355 positions, compared with lesson.py:Net with net.pt",
    ),
}
