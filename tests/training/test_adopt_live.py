"""``adopt`` of models that live in a notebook: their classes and functions are those of its cells."""

import nbformat
import pytest
from nbclient import NotebookClient

from connectx_toolkit.system.files import ROOT
from tests.conftest import LINUX

pytestmark = pytest.mark.slow
CELLS = [
    f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom connectx_toolkit import adopt",
    """import gymnasium
import numpy as np
import torch.nn as nn
import connectx_toolkit.training.environments
from stable_baselines3 import PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor""",
    """class CustomCNN(BaseFeaturesExtractor):
    def __init__(self, observation_space, features_dim=16):
        super().__init__(observation_space, features_dim)
        self.cnn = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(80, features_dim), nn.ReLU())

    def forward(self, seen):
        return self.cnn(seen)


kwargs = dict(features_extractor_class=CustomCNN, normalize_images=False)
model = PPO("CnnPolicy", gymnasium.make("ConnectX-v0", observation="course"), policy_kwargs=kwargs, seed=1, n_steps=64)
model.learn(64)""",
    "adopt(model, 'my_ppo.py', positions=40)",
    """class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(42, width), nn.ReLU(), nn.Linear(width, 7))

    def forward(self, seen):
        return self.body(seen)


def encode(obs, config):
    return np.array(obs.board, np.float32) * obs.mark


net = Net(16)""",
    "adopt(net, 'my_net.py', observation=encode, positions=40)",
    "try:\n    adopt(net, 'other.py', observation=lambda *seen: 1)\nexcept ValueError as problem:\n    print(problem)",
    "try:\n    adopt(3)\nexcept ValueError as problem:\n    print(problem)",
]


@LINUX
def test_live_models_become_agents(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [cell.outputs for cell in notebook.cells]
    shown = [next((o.data["text/plain"] for o in cell if o.output_type == "execute_result"), "") for cell in cells]
    printed = ["".join(o.text for o in cell if o.output_type == "stream" and o.name == "stdout") for cell in cells]
    assert "same moves as the live PPO.predict(..., deterministic=True) in " in shown[3]
    assert "same moves as the live Net in " in shown[5] and "observation: what encode of cells.ipynb gives" in shown[5]
    assert 'next: get_win_percentages("my_net.py", "random")' in shown[5]
    assert "<lambda> is not defined at the top of a file or a cell" in printed[6]
    assert "expected a path, a model of stable-baselines3 or a torch.nn.Module, not 3" in printed[7]
    assert {path.name for path in tmp_path.iterdir()} == {"my_ppo.py", "my_ppo.bin", "my_net.py", "my_net.bin"}
