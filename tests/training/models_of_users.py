"""Models as users train them, for tests/training/test_adopt_models.py: each is a file of the user's with `make()`, which returns the model
(a stable-baselines3 algorithm or a torch module), and `look(obs, config)`, which makes what it sees."""

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

# Written from the guide alone, before the adoption's code was read: name -> (the user's file, what the user adds to the command).
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
    return DQN("MlpPolicy", World(spaces.Box(0, 2, (127,), np.float32)), buffer_size=10, policy_kwargs=dict(net_arch=[20, 20]))
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
    return QRDQN("MlpPolicy", World(spaces.Box(0, 1, (6, 7, 2), np.int8)), buffer_size=10, policy_kwargs=dict(net_arch=[16], n_quantiles=9))
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
                       policy_kwargs=dict(features_extractor_class=Tower, features_extractor_kwargs=dict(width=5), net_arch=[8]))
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
        return {"logits": self.head(self.norm(h + mixed).flatten(1)), "policy": self.head(self.norm(h + mixed).flatten(1))}
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
