"""The gymnasium environment and its batch against the checkers of both libraries, and against the rules."""

import random
import warnings
from typing import Any

import gymnasium.utils.env_checker
import numpy as np
import pytest
import stable_baselines3.common.env_checker
from sb3_contrib.common.maskable.utils import get_action_masks

from connectx.encoding import encode
from connectx.geometry import STANDARD, Geometry, geometry_of
from connectx.position import Position
from training.environments.connectx import ENDINGS, ConnectXEnv, Duels, rewards_named
from training.environments.sb3 import BatchEnv
from training.games.opponents import opponent_named

SMALL = geometry_of(3, 3, 3)


@pytest.mark.parametrize("opponent", ["random", "minimax@2"])
@pytest.mark.parametrize("geometry", [STANDARD, SMALL], ids=["6x7k4", "3x3k3"])
def test_checkers_are_content(opponent, geometry):
    env = ConnectXEnv(opponent, geometry, render_mode="ansi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stable_baselines3.common.env_checker.check_env(env)
        warnings.filterwarnings("ignore", message=".*not having a spec.*")  # it is made without a registry
        gymnasium.utils.env_checker.check_env(env)


class Reference:
    """One game against leftmost, one move at a time, on immutable positions."""

    def __init__(self, geometry: Geometry, rewards: str):
        self.geometry, self.names = geometry, rewards
        self.leads = False
        self.restart()

    def restart(self) -> None:
        self.leads = not self.leads
        self.position = Position.empty(self.geometry)
        if not self.leads:
            self.position = self.position.play(0)

    def step(self, column: int) -> tuple[float, str | None]:
        """Reward and ending, by the docstring of training.environments.connectx."""
        course = self.names == "course"
        if column not in self.position.legal_columns():
            return -10.0, "illegal"
        for ending, reward in (("won", 1.0), ("lost", -1.0)):
            self.position = self.position.play(column)
            if self.position.is_lost():
                return reward, ending
            if self.position.is_full():
                return -1.0 if course else 0.0, "drawn"
            column = self.position.legal_columns()[0]
        return 1 / self.geometry.cells if course else 0.0, None

    def planes(self) -> np.ndarray:
        return encode(self.position, "facts-1")[0].ravel()


@pytest.mark.parametrize("rewards", ["course", "zero-sum"])
def test_environment_plays_by_the_rules(rewards):
    """Random columns, full ones included, against leftmost: what is seen and paid, and how games end."""
    env, expected, rng = ConnectXEnv("leftmost", SMALL, rewards), Reference(SMALL, rewards), random.Random(1)
    seen, _ = env.reset(seed=1)
    endings = set()
    for _ in range(600):
        assert (seen == expected.planes()).all()
        assert np.flatnonzero(env.action_masks()).tolist() == expected.position.legal_columns()
        column = rng.randrange(3)
        seen, reward, terminated, truncated, info = env.step(column)
        paid, ending = expected.step(column)
        assert (reward, terminated, truncated) == (pytest.approx(paid), ending is not None, False)
        assert info.get("ending") == ending
        if ending is not None:
            endings.add(ending)
            expected.restart()
            seen, _ = env.reset()
    assert endings == set(ENDINGS)


def test_batch_is_many_environments():
    """Each game of a batch, restarted as soon as it ends, is a game of the reference."""
    count, rng = 12, np.random.default_rng(2)
    duels = Duels([(5, opponent_named("leftmost", SMALL, rng)), (7, opponent_named("leftmost", SMALL, rng))], SMALL,
                  rewards_named("course", SMALL))  # fmt: skip
    batch, expected = BatchEnv(duels), [Reference(SMALL, "course") for _ in range(count)]
    for game in expected[1::2]:
        game.restart()  # neighbours sit in different seats
    planes: Any = duels.observe()
    counted = np.zeros(len(ENDINGS), int)
    for _ in range(60):
        assert (planes == [game.planes() for game in expected]).all()
        legal = [[c in game.position.legal_columns() for c in range(3)] for game in expected]
        assert get_action_masks(batch).tolist() == legal
        columns = rng.integers(3, size=count)
        planes, rewards, dones, infos = batch.step(columns)
        for index, game in enumerate(expected):
            paid, ending = game.step(int(columns[index]))
            assert rewards[index] == pytest.approx(paid) and dones[index] == (ending is not None)
            assert infos[index].get("ending") == ending
            if ending is not None:
                counted[ENDINGS.index(ending)] += 1
                assert batch.observation_space.contains(infos[index]["terminal_observation"])
                game.restart()
    assert batch.counts.tolist() == counted.tolist() and counted.all()


def test_seeds_repeat_games():
    """The same seed, the same opponent's moves; another seed, others."""

    def game(seed: int) -> list[int]:
        env = ConnectXEnv("random")
        env.reset(seed=seed)
        boards = [env.step(column)[0].sum() for column in (3, 3, 2)]
        return [*boards, hash(env.render())]

    assert game(5) == game(5)
    assert len({tuple(game(seed)) for seed in range(8)}) > 1


def test_picture():
    env = ConnectXEnv("leftmost", SMALL, render_mode="ansi")
    env.reset(seed=0)
    env.step(2)
    assert env.render() == "...\n...\nO.X"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opponent": "nobody"}, "is not random"),
        ({"rewards": "money"}, "rewards should be one of"),
        ({"encoding": "facts-9"}, "unknown"),
        ({"render_mode": "human"}, "render_mode"),
        ({"geometry": geometry_of(12, 12, 5)}, "64"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        ConnectXEnv(**options).reset()
