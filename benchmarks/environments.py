"""Steps a second of the course's wrapper and of our environments, alone and with stable-baselines3's PPO, on one core.

python -m benchmarks.environments [--steps N]

The course's wrapper is that of the last lesson of Kaggle's "Intro to Game AI": a gym class around
``env.train([None, "random"])``. PPO learns with its defaults (batches of 64, ten times over), and with large batches,
which only many games make sense of; each factor is beside the wrapper at the same settings. The networks are
MlpPolicy's and the lesson's CNN. Seconds are those of the processor.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from kaggle_environments import make
from stable_baselines3 import PPO

import connectx_toolkit.training.environments
from benchmarks.machine import head, record
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.training.environments.sb3 import batch_env
from connectx_toolkit.training.user_model import part_of

LESSON = ROOT / "tests" / "corpus" / "lessons" / "deep_reinforcement_learning.py"
GAMES = 500
COURSE = "the course's wrapper"
DEFAULTS: dict[str, Any] = {}
DEFAULTS_OF_MANY = {"n_steps": 4}  # 2,000 steps between two updates, as the 2,048 of one environment
LARGE_BATCHES = {"n_steps": 2000, "batch_size": 2000, "n_epochs": 3}
LARGE_BATCHES_OF_MANY = LARGE_BATCHES | DEFAULTS_OF_MANY


class CourseWrapper(gymnasium.Env):
    """The lesson's ConnectFourGym, with what gymnasium calls otherwise than gym."""

    def __init__(self) -> None:
        environment = make("connectx", debug=True)
        self._env = environment.train([None, "random"])
        self._rows, self._columns = environment.configuration.rows, environment.configuration.columns
        self.action_space = spaces.Discrete(self._columns)
        self.observation_space = spaces.Box(0, 2, (1, self._rows, self._columns), np.int64)

    def reset(self, *, seed=None, options=None):
        self._obs = self._env.reset()
        return self._seen(), {}

    def step(self, action):
        if self._obs["board"][int(action)] != 0:
            return self._seen(), -10.0, True, False, {}
        self._obs, old_reward, done, _ = self._env.step(int(action))
        reward = 1.0 if old_reward == 1 else -1.0 if done else 1 / (self._rows * self._columns)
        return self._seen(), reward, done, False, {}

    def _seen(self) -> np.ndarray:
        return np.array(self._obs["board"]).reshape(1, self._rows, self._columns)


def one() -> gymnasium.Env:
    assert connectx_toolkit.training.environments  # it registers the name
    return gymnasium.make("ConnectX-v0", opponent="random", observation="course", seat="first")


def many() -> Any:
    return batch_env(GAMES, opponent="random", observation="course", seat="first")


def alone(env: Any, steps: int) -> float:
    """Steps a second with random columns, full ones included."""
    if not hasattr(env, "num_envs"):
        env.reset()
        env.step(0)
        started = time.process_time()
        for column in np.random.default_rng(1).integers(7, size=steps):
            if env.step(column)[2]:
                env.reset()
        return steps / (time.process_time() - started)
    columns = np.random.default_rng(1).integers(7, size=(max(20, steps // env.num_envs), env.num_envs))
    env.reset()
    env.step(columns[0])
    started = time.process_time()
    for row in columns:
        env.step(row)
    return columns.size / (time.process_time() - started)


def learning(env: Any, steps: int, policy: str, settings: dict[str, Any]) -> float:
    """Steps a second of PPO, updates included."""
    kwargs = {"features_extractor_class": part_of(f"{LESSON}:CustomCNN").load()} if policy == "CnnPolicy" else {}
    model = PPO(policy, env, policy_kwargs=kwargs, seed=1, device="cpu", **settings)
    model.learn(1)  # what is done once is done
    done, started = model.num_timesteps, time.process_time()
    model.learn(steps, reset_num_timesteps=False)
    return (model.num_timesteps - done) / (time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2048, help="of the course's wrapper; ours take more (%(default)s)")
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    large = f"batches of {LARGE_BATCHES['batch_size']}"
    rows: list[tuple[str, Callable[[], Any], dict[str, Any], int]] = [
        (COURSE, CourseWrapper, DEFAULTS, steps),
        ("ConnectX-v0", one, DEFAULTS, 2 * steps),
        (f"{GAMES} games", many, DEFAULTS_OF_MANY, 4 * steps),
        (f"{COURSE}, {large}", CourseWrapper, LARGE_BATCHES, steps),
        (f"{GAMES} games, {large}", many, LARGE_BATCHES_OF_MANY, 16 * steps),
    ]
    head(threads=1, seed=1)
    print("| environment | alone | PPO, MlpPolicy | PPO, the lesson's CNN |\n|---|---|---|---|")
    kinds, speeds, base = ("MlpPolicy", "CnnPolicy"), dict[str, list[float]](), list[float]()
    for name, env, settings, count in rows:
        speeds[name] = [alone(env(), count), *(learning(env(), count, kind, settings) for kind in kinds)]
        base = speeds[name] if name.startswith(COURSE) else base
        cells = [f"{speed:,.0f} ({speed / first:.1f}x)" for speed, first in zip(speeds[name], base, strict=True)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    course, many_games = (round(speeds[rows[number][0]][1]) for number in (0, 2))
    unit = "steps a second of PPO with its defaults and MlpPolicy"
    record("environments", many_games, unit, course, steps_a_second=speeds)


if __name__ == "__main__":
    main()
