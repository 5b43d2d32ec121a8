"""ConnectX for stable-baselines3: thousands of games that it steps, and the networks that it trains.

    model = PPO("MlpPolicy", batch_env(500, opponent="negamax", observation="lines-1"), n_steps=16, batch_size=2000)
    model.learn(1_000_000)

``CourseCNN`` is the network of the last lesson of Kaggle's course "Intro to Game AI".
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from connectx_core.network import Architecture
from connectx_toolkit.training.environments.connectx_env import ConnectXVectorEnv
from connectx_toolkit.training.environments.vector_env import ENDINGS, Policy

__all__ = [
    "ALGORITHM_CLASSES",
    "PPO",
    "AgainstItself",
    "BatchEnv",
    "CourseCNN",
    "Logger",
    "Trunk",
    "arrays_of",
    "batch_env",
    "set_random_seed",
]


class CourseCNN(BaseFeaturesExtractor):
    """Convolutions of 32 and 64 channels, 3x3 without padding, and a dense layer of 128, with ReLU after each.

    It sees the observation "course": (n, 1, rows, columns), float32 of 0, 1 and 2. Returns (n, 128).
    """

    def __init__(self, space, width: int = 128):
        super().__init__(space, width)
        planes, rows, columns = space.shape
        self.layers = nn.Sequential(
            nn.Conv2d(planes, 32, 3),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(64 * (rows - 4) * (columns - 4), width),
            nn.ReLU(),
        )

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layers(observations)


ALGORITHM_CLASSES = {"ppo": PPO, "maskable": MaskablePPO}


class BatchEnv(VecEnv):
    """The games of a ConnectXVectorEnv for stable-baselines3.

    Endings are counted in ``counts``, (len(ENDINGS),) int64, until somebody sets them to zero.
    """

    def __init__(self, env: ConnectXVectorEnv):
        self.env, self.render_mode = env, env.render_mode
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.counts = np.zeros(len(ENDINGS), np.int64)
        self._columns = np.zeros(self.num_envs, np.int64)

    def reset(self) -> np.ndarray:
        observations, _ = self.env.reset(seed=self._seeds[0])
        self._reset_seeds()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._columns = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        observations, rewards, dones, _, facts = self.env.step(self._columns)
        infos: list[dict] = [{} for _ in range(self.num_envs)]
        for game in np.flatnonzero(dones):
            ending = facts["ending"][game]
            self.counts[ending] += 1
            infos[game] = {"terminal_observation": facts["final_obs"][game], "ending": ENDINGS[ending]}
        return observations, rewards, dones, infos

    def close(self) -> None:
        self.env.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        return list(self.env.render())

    def get_attr(self, attr_name: str, indices=None) -> list[Any]:
        """An attribute of the environment, once for each game."""
        return [getattr(self.env, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices=None) -> None:
        setattr(self.env, attr_name, value)

    def env_method(self, method_name: str, *method_args, indices=None, **method_kwargs) -> list[Any]:
        """A method of the environment, called once: its row for each game, if it returns rows."""
        rows = getattr(self.env, method_name)(*method_args, **method_kwargs)
        return [None if rows is None else rows[game] for game in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class, indices=None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))


def batch_env(num_envs: int = 1000, **options: Any) -> BatchEnv:
    """``num_envs`` games for stable-baselines3, with the options of connectx_toolkit.training.environments.vector_env.

    >>> env = batch_env(10, opponent="random", seat="first")
    >>> env.num_envs, env.reset().shape
    (10, (10, 1, 6, 7))

    Raises:
        ValueError, OSError: as Setting does.
    """
    return BatchEnv(ConnectXVectorEnv(num_envs, **options))


class AgainstItself(BaseCallback):
    """Shows the opponent "self" the policy as it is now, every so many rollouts; it draws from its probabilities."""

    def __init__(self, every: int = 10):
        super().__init__()
        self._every, self._rollouts = every, 0

    def _on_rollout_start(self) -> None:
        if self._rollouts % self._every == 0:
            self.training_env.env_method("set_policy", policy_of(self.model))
        self._rollouts += 1

    def _on_step(self) -> bool:
        return True


def policy_of(model: Any) -> Policy:
    """The policy of a model as it is now, which goes on learning without it."""
    policy = type(model.policy)(**model.policy._get_constructor_parameters())  # as its save() does
    policy.load_state_dict(model.policy.state_dict())
    is_masked = isinstance(policy, MaskableActorCriticPolicy)

    def columns(observations: np.ndarray, legal: np.ndarray) -> np.ndarray:
        return policy.predict(observations, **({"action_masks": legal} if is_masked else {}))[0]

    return columns


class Trunk(BaseFeaturesExtractor):
    """The hidden layers of an architecture, all dense; its heads are stable-baselines3's own."""

    def __init__(self, space, architecture: Architecture):
        super().__init__(space, architecture.layers[-1][1])
        shapes = [shape for name, shape in architecture.parameters().items() if name[0].isdigit() and len(shape) > 1]
        maps = [layer for width, inputs in shapes for layer in (nn.Linear(inputs, width), nn.ReLU())]
        self.layers = nn.Sequential(nn.Flatten(), *maps)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layers(observations)


def arrays_of(policy: Any) -> dict[str, np.ndarray]:
    """The parameters of a policy under the names that its architecture gives them: float32, copies."""
    linear = [layer for layer in policy.features_extractor.layers if isinstance(layer, nn.Linear)]
    named = {f"{index}a": layer for index, layer in enumerate(linear)}
    named |= {"policy": policy.action_net, "value": policy.value_net}
    arrays = {}
    for name, layer in named.items():
        arrays[f"{name}.weight"] = layer.weight.detach().cpu().numpy().copy()
        arrays[f"{name}.bias"] = layer.bias.detach().cpu().numpy().copy()
    return arrays
