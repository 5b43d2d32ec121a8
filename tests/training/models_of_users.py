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
from sb3_contrib import MaskablePPO

class World(gymnasium.Env):
    def __init__(self, space):
        self.observation_space, self.action_space = space, spaces.Discrete(7)
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}
    def step(self, action):
        return self.observation_space.sample(), 0.0, True, False, {}

def own(obs):
    board = np.array(obs.board).reshape(6, 7)
    return np.where(board > 0, 1 + (board != obs.mark), 0)
"""
_TORCH = """
import numpy as np
import torch
from torch import nn
"""
_TWO_LAYERS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.o = nn.Linear(42, 20), nn.Linear(20, 7)
    def forward(self, x):
        return self.o(torch.tanh(self.a((x - 1).float().flatten(1) / 64)))
def make():
    return Net()
"""
LOOK = {"observation": "FILE:look"}
NET = LOOK | {"module": "FILE:Net"}

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
        LOOK,
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
        NET | {"arguments": '{"width": 12, "heads": 3}'},
    ),
    "MaskablePPO, planes of the toolkit": (
        """
import gymnasium
from sb3_contrib import MaskablePPO
import connectx_toolkit.training.environments
from connectx_core.encoding import view_of
def look(obs, config):
    return view_of(obs, config, "lines-1")
def make():
    return MaskablePPO("MlpPolicy", gymnasium.make("ConnectX-v0", observation="lines-1"), n_steps=8, batch_size=8)
""",
        {},
    ),
    "sides, three axes": (
        _SB3
        + """
def look(obs, config):
    return own(obs)[:, :, None]
def make():
    return DQN("MlpPolicy", World(spaces.Box(0, 2, (6, 7, 1), np.uint8)), buffer_size=10)
""",
        {"observation": "sides"},
    ),
    "an image, not scaled": (
        _SB3
        + """
def look(obs, config):
    return (own(obs) * 9)[None].astype(np.uint8)
def make():
    return A2C("MlpPolicy", World(spaces.Box(0, 255, (1, 6, 7), np.uint8)), policy_kwargs=dict(normalize_images=False))
""",
        LOOK,
    ),
    "CnnPolicy, channels last": (
        _SB3
        + """
def look(obs, config):
    return (own(obs) * 120).astype(np.uint8)[:, :, None].repeat(6, 0).repeat(6, 1)
def make():
    return PPO("CnnPolicy", World(spaces.Box(0, 255, (36, 42, 1), np.uint8)), n_steps=8, batch_size=8,
               policy_kwargs=dict(features_extractor_kwargs=dict(features_dim=8)))
""",
        LOOK,
    ),
    "small numbers that wrap": (
        _TORCH
        + """
def look(obs, config):
    board = np.array(obs.board)
    return np.where(board > 0, 1 + (board != obs.mark), 0).astype(np.uint8)
"""
        + _TWO_LAYERS,
        NET,
    ),
    "a table filled by methods": (
        _TORCH
        + """
ORDER = []
for row in range(6):
    ORDER += [7 * row + column for column in range(7)][::-1]
ORDER.reverse()
SCALE = np.ones(42, np.float32)
SCALE.fill(6.0)
np.put(SCALE, [0, 9], 90.0)
def look(obs, config):
    return np.array(obs.board)[ORDER].astype(np.float32) * SCALE * (3 - 2 * obs.mark)
"""
        + _TWO_LAYERS,
        NET,
    ),
}
