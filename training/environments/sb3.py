"""ConnectX for stable-baselines3: the batch of games that it steps, and the networks that it trains."""

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from connectx.nets import Architecture
from training.environments.connectx import ENDINGS, Duels, observation_space

ALGORITHMS = {"ppo": PPO, "maskable": MaskablePPO}

__all__ = ["ALGORITHMS", "BatchEnv", "Logger", "Trunk", "arrays_of", "set_random_seed"]


class BatchEnv(VecEnv):
    """Many games side by side, for stable-baselines3: a game that ends starts again at once.

    Endings are counted in ``counts``, (len(ENDINGS),) int64, until somebody sets them to zero.
    """

    def __init__(self, duels: Duels):
        geometry, self.render_mode = duels.games.geometry, None
        space = observation_space(geometry, duels.encoding)
        super().__init__(len(duels.games), space, spaces.Discrete(geometry.columns))
        self.duels, self.counts = duels, np.zeros(len(ENDINGS), np.int64)
        self._columns = np.zeros(self.num_envs, np.int64)

    def reset(self) -> np.ndarray:
        self.duels.restart(np.arange(self.num_envs))
        return self.duels.observe()

    def step_async(self, actions: np.ndarray) -> None:
        self._columns = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        rewards, endings = self.duels.step(self._columns, np.arange(self.num_envs))
        over = np.flatnonzero(endings >= 0)
        infos: list[dict] = [{} for _ in range(self.num_envs)]
        if len(over):
            last = self.duels.observe()
            for game in over:
                infos[game] = {"terminal_observation": last[game], "ending": ENDINGS[endings[game]]}
            self.counts += np.bincount(endings[over], minlength=len(ENDINGS))
            self.duels.restart(over)
        return self.duels.observe(), rewards, endings >= 0, infos

    def action_masks(self) -> np.ndarray:
        """(n, columns) bool."""
        return self.duels.legal()

    def close(self) -> None:
        """Nothing is held."""

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self, attr_name)

    def get_attr(self, attr_name: str, indices=None) -> list[Any]:
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices=None) -> None:
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *method_args, indices=None, **method_kwargs) -> list[Any]:
        """The method of the batch, by game: only such as return one row for each game."""
        rows = getattr(self, method_name)(*method_args, **method_kwargs)
        return [rows[game] for game in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class, indices=None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))


class Trunk(BaseFeaturesExtractor):
    """The hidden layers of an architecture, all dense; its heads are stable-baselines3's own."""

    def __init__(self, space, architecture: Architecture):
        super().__init__(space, architecture.layers[-1][1])
        shapes = [shape for name, shape in architecture.parameters().items() if name[0].isdigit() and len(shape) > 1]
        maps = [layer for width, inputs in shapes for layer in (nn.Linear(inputs, width), nn.ReLU())]
        self.layers = nn.Sequential(*maps)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layers(observations)


def arrays_of(policy: Any) -> dict[str, np.ndarray]:
    """The parameters of a policy under the names that its architecture gives them: float32, copies."""
    linear = [layer for layer in policy.features_extractor.layers if isinstance(layer, nn.Linear)]
    named = {f"{index}a": layer for index, layer in enumerate(linear)}
    named |= {"policy": policy.action_net, "value": policy.value_net}
    arrays = {}
    for name, layer in named.items():
        arrays[f"{name}.weight"] = layer.weight.detach().numpy().copy()
        arrays[f"{name}.bias"] = layer.bias.detach().numpy().copy()
    return arrays
