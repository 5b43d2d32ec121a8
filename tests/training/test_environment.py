"""The environments against the checkers of three libraries, the rules, and an independent reading of the board."""

import random
import re
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import gymnasium.utils.env_checker
import numpy as np
import pytest
import stable_baselines3.common.env_checker
import torch
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import DictInfoToList
from pettingzoo.test import api_test, seed_test
from pettingzoo.utils.conversions import aec_to_parallel
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3 import PPO

import connectx_toolkit.training.environments
from connectx_core.position import STANDARD, Geometry, Position, geometry_of
from connectx_toolkit.system.files import AGENTS, ROOT
from connectx_toolkit.training.environments import aec
from connectx_toolkit.training.environments.connectx_env import ConnectXEnv, ConnectXVectorEnv
from connectx_toolkit.training.environments.sb3 import AgainstItself, batch_env, policy_of
from connectx_toolkit.training.environments.vector_env import ENDINGS, OBSERVATIONS
from connectx_toolkit.training.opponents import UNTIMED
from tests.oracle import board_after
from tests.slow_encoder import observation as slow_observation

pytestmark = pytest.mark.slow
SMALL: dict[str, Any] = {"rows": 3, "columns": 3, "inarow": 3}
SIZES = [STANDARD, geometry_of(3, 3, 3), geometry_of(5, 6, 3)]


def board_of(geometry: Geometry) -> dict[str, Any]:
    return {"rows": geometry.rows, "columns": geometry.columns, "inarow": geometry.inarow}


@pytest.mark.parametrize(("seen", "opponent"), [("course", "one_step"), ("sides", "negamax"), ("lines-1", "n_step")])
def test_checkers_are_content(seen, opponent):
    """As both libraries make it, from the registry."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*image.*")  # it is a board
        env = gymnasium.make("ConnectX-v0", opponent=opponent, observation=seen, render_mode="ansi")
        gymnasium.utils.env_checker.check_env(env.unwrapped)
        stable_baselines3.common.env_checker.check_env(env)


@pytest.mark.parametrize("seen", ["course", "sides", "lines-1"])
@pytest.mark.filterwarnings("ignore:Observation")  # its space is a dict, as PettingZoo's own board games have it
def test_pettingzoo_is_content(seen):
    api_test(aec.env(observation=seen), num_cycles=200)
    seed_test(lambda: aec.env(observation=seen), num_cycles=30)
    with pytest.raises(AssertionError, match="is_parallelizable"):  # the players move in turn
        aec_to_parallel(aec.env(observation=seen))


@pytest.mark.parametrize("geometry", SIZES, ids=str)
@pytest.mark.parametrize("seen", OBSERVATIONS)
def test_observations_are_what_a_slow_reading_says(seen, geometry):
    """Of either seat, in games to their end: the environment's own moves, read again by rules written apart."""
    env, rng = ConnectXEnv(opponent="random", observation=seen, **board_of(geometry)), random.Random(3)
    if seen == "fours-1" and geometry != STANDARD:
        with pytest.raises(ValueError, match="for the standard board"):
            env.reset(seed=5)
        return
    observed, info = env.reset(seed=5)
    for _ in range(30):
        board = board_after(geometry.rows, geometry.columns, env._moves)
        me = 1 if env._duels.seats[0] == 1 else 2
        assert observed.tolist() == slow_observation(board, me, geometry.inarow, seen)
        assert env.observation_space.contains(observed)
        observed, *_, over, _, info = env.step(rng.choice(np.flatnonzero(info["action_mask"]).tolist()))
        if over:
            observed, info = env.reset()


def test_both_sides_of_the_aec_see_the_same_board():
    env = aec.env(observation="lines-1")
    env.reset()
    moves = [3, 3, 2, 4, 1]
    for column in moves:
        env.step(column)
    board = board_after(6, 7, moves)
    for number, agent in enumerate(env.possible_agents):
        seen = env.observe(agent)
        assert seen["observation"].tolist() == slow_observation(board, 1 + number, 4, "lines-1")
        assert seen["action_mask"].all() == (agent == env.agent_selection)
    env.step(6)
    env.step(0)  # the first player's fourth stone in the bottom row
    assert set(env.terminations.values()) == {True} and env.rewards == {"player_0": 1.0, "player_1": -1.0}


def test_an_illegal_column_loses_in_the_aec():
    env = aec.env(**SMALL)
    env.reset()
    for column in (0, 0, 0, 0):
        env.step(column)
    assert env.terminations == {"player_0": True, "player_1": True} and env.rewards == {"player_0": 0, "player_1": -1}
    assert not any(env.observe(agent)["action_mask"].any() for agent in env.possible_agents)


@pytest.mark.filterwarnings("ignore:an opponent")
def test_an_opponents_fault_is_the_learners_win():
    """It plays column 0 whatever happens: full after three stones of either side."""
    env = ConnectXVectorEnv(2, opponent=lambda obs, config: 0, seat="first", **SMALL)
    env.reset(seed=1)
    env.step(np.array([0, 1]))
    *_, infos = env.step(np.array([0, 2]))
    assert infos["ending"].tolist() == [ENDINGS.index("won"), -1]


def test_infos_are_as_gymnasiums_wrappers_need_them():
    env = DictInfoToList(ConnectXVectorEnv(3, opponent="random", **SMALL))
    _, infos = env.reset(seed=1)
    assert [info["action_mask"].tolist() for info in infos] == [[1, 1, 1]] * 3


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
        """Reward and ending, by the docstring of connectx_toolkit.training.environments.vector_env."""
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

    def seen(self) -> list:
        """The board as the course shows it."""
        rows, columns = self.geometry.rows, self.geometry.columns
        return np.reshape(self.position.to_board(), (1, rows, columns)).tolist()


@pytest.mark.parametrize("rewards", ["course", "zero-sum"])
def test_environments_play_by_the_rules(rewards):
    """Random columns, full ones included, against leftmost: what is seen and paid, and how games end. Each game of many
    starts again as soon as it ends; neighbours sit in different seats. The environment of one game is as the first.
    """
    options: dict[str, Any] = {"opponent": "leftmost+leftmost", "observation": "course", "rewards": rewards} | SMALL
    many: Any = gymnasium.make_vec("ConnectX-vec", num_envs=12, **options)
    assert many.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    expected = [Reference(geometry_of(3, 3, 3), rewards) for _ in range(12)]
    for game in expected[1::2]:
        game.restart()
    one, rng, endings = ConnectXEnv(**options), np.random.default_rng(2), set()
    (seen, infos), (single, _) = many.reset(seed=1), one.reset(seed=1)
    for _ in range(100):
        assert many.observation_space.contains(seen) and seen.tolist() == [game.seen() for game in expected]
        legal = [[c in game.position.legal_columns() for c in range(3)] for game in expected]
        assert infos["action_mask"].tolist() == many.unwrapped.action_masks().tolist() == legal
        assert (single == seen[0]).all() and one.action_masks().tolist() == legal[0]
        columns = rng.integers(3, size=12)
        seen, paid, dones, truncations, infos = many.step(columns)
        single, *rest, info = one.step(columns[0])
        assert rest == [paid[0], dones[0], False] and not truncations.any()
        for index, game in enumerate(expected):
            reward, ending = game.step(int(columns[index]))
            assert (paid[index], dones[index]) == (pytest.approx(reward), ending is not None)
            if ending is not None:
                assert ENDINGS[infos["ending"][index]] == ending and infos["_ending"][index]
                assert infos["final_obs"][index].tolist() == game.seen() and infos["_final_obs"][index]
                endings.add(ending)
                game.restart()
        assert ("ending" in info) == dones[0]
        if dones[0]:
            assert info["ending"] == ENDINGS[infos["ending"][0]] and (single == infos["final_obs"][0]).all()
            assert not one.action_masks().any() and not info["action_mask"].any()
            single, _ = one.reset()
    assert endings == set(ENDINGS)


def test_stable_baselines3_sees_the_same():
    batch, env = batch_env(6, opponent="leftmost", **SMALL), ConnectXVectorEnv(6, opponent="leftmost", **SMALL)
    rng, counted = np.random.default_rng(4), np.zeros(len(ENDINGS), int)
    assert batch.env_is_wrapped(gymnasium.Wrapper) == 6 * [False] and batch.get_attr("num_envs") == 6 * [6]
    batch.seed(9)
    assert np.array_equal(batch.reset(), env.reset(seed=9)[0])
    for _ in range(40):
        columns = rng.integers(3, size=6)
        seen, rewards, dones, infos = batch.step(columns)
        again, paid, over, _, found = env.step(columns)
        for one, other in ((seen, again), (rewards, paid), (dones, over)):
            assert np.array_equal(one, other)  # type: ignore[arg-type] # a VecEnv may see dicts of arrays
        assert (np.array(get_action_masks(batch)) == env.action_masks()).all()
        for game in np.flatnonzero(over):
            counted[found["ending"][game]] += 1
            assert infos[game]["ending"] == ENDINGS[found["ending"][game]]
            assert (infos[game]["terminal_observation"] == found["final_obs"][game]).all()
    assert batch.counts.tolist() == counted.tolist() and counted.sum()


def test_seeds_repeat_games():
    """The same seed, the same opponents and their moves; another seed, others."""

    def game(seed: int) -> str:
        env = ConnectXEnv(opponent="random+leftmost", render_mode="ansi")
        env.reset(seed=seed)
        for column in (3, 3, 2):
            env.step(column)
        return env.render()

    assert game(5) == game(5)
    assert len({game(seed) for seed in range(8)}) > 2


def test_the_page_names_the_opponents_that_do_not_repeat():
    """Those that look at the clock: n_step does, too, but is not given one."""
    timed = {path.stem for path in AGENTS.glob("*.py") if "budget_for" in path.read_text()} - UNTIMED
    page = (ROOT / "docs" / "reference" / "environments.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"opponents that search by the clock \((.*?)\)", page)
    assert set(re.findall(r"`(\w+)`", named)) == timed


@pytest.mark.parametrize(("seat", "stones"), [("first", [0, 0, 0]), ("second", [1, 1, 1]), ("alternating", [0, 1, 0])])
def test_seats(seat, stones):
    env = ConnectXEnv(seat=seat)
    begun = [env.reset(seed=1)[0], env.reset()[0], env.reset()[0]]
    assert [np.count_nonzero(seen) for seen in begun] == stones


def rightmost(obs, config):
    return max(column for column in range(config.columns) if not obs.board[column])


def test_opponents_of_all_kinds(tmp_path):
    """A name, a file, a function, and a mixture of them, of which each game draws one."""
    (tmp_path / "middle_one.py").write_text("def helper():\n    pass\n\n\ndef play(obs, config):\n    return 3\n")
    file = str(tmp_path / "middle_one.py")
    opponents: list[tuple[Any, set[int]]] = [("leftmost", {0}), (file, {3}), (Path(file), {3}), (rightmost, {6})]
    opponents += [(["leftmost", file, rightmost], {0, 3, 6}), (f"leftmost+{file}", {0, 3})]
    for opponent, columns in opponents:
        env = ConnectXVectorEnv(60, opponent=opponent, seat="second")
        first = env.reset(seed=1)[0][:, 0]
        found = np.argwhere(first)[:, 2]
        assert set(found.tolist()) == columns
        assert np.bincount(found)[list(columns)].min() > 60 / len(columns) / 2


def test_itself_is_the_policy_that_it_is_shown():
    """At random until then; what is not legal is played at random; it sees its own side."""
    env = ConnectXVectorEnv(40, opponent="self", seat="second")
    assert len(set(np.argwhere(env.reset(seed=1)[0][:, 0])[:, 2].tolist())) > 3
    asked = []

    def policy(observations, legal):
        asked.append(observations)
        assert observations.shape[1:] == (1, 6, 7) and legal.shape == (len(observations), 7)
        return np.full(len(observations), 2)

    env.set_policy(policy)
    env.reset(seed=1)
    for _ in range(6):
        assert env.step(np.argmax(env.action_masks()[:, ::-1], axis=1) * -1 + 6)[1].shape == (40,)
    assert (asked[0] == 0).all() and (asked[1][:, 0, 5, 2] == 1).all() and (asked[1][:, 0, 5, 6] == 2).all()


def test_stable_baselines3_learns_against_itself():
    """Through one environment and many; the policy that is played is a copy, which does not learn."""
    single = ConnectXEnv(opponent="self", **SMALL)
    for env, unwrapped in ((single, single), (many := batch_env(8, opponent="self", **SMALL), many.env)):
        model = PPO("MlpPolicy", env, n_steps=16, batch_size=16, n_epochs=1, seed=1, learning_rate=0.01)
        model.learn(48, callback=AgainstItself(every=2))
        policy = unwrapped.setting.policy
        assert policy is not None and policy(np.zeros((5, 1, 3, 3)), np.ones((5, 3), bool)).shape == (5,)
    frozen = policy_of(model)
    boards = np.random.default_rng(1).integers(0, 3, (2000, 1, 3, 3))

    def drawn(policy) -> list[int]:
        torch.manual_seed(1)
        return policy(boards, np.ones((2000, 3), bool)).tolist()

    before = drawn(frozen)
    assert before == drawn(policy_of(model)) and set(before) == {0, 1, 2}
    model.learn(48)
    assert drawn(frozen) == before != drawn(policy_of(model))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opponent": "nobody"}, "is not random"),
        ({"opponent": []}, "at least one"),
        ({"opponent": 3}, "a name, a file, a function"),
        ({"opponent": "missing.py"}, "no agent missing.py"),
        ({"rewards": "money"}, "rewards should be one of course, zero-sum"),
        ({"observation": "facts-9"}, "observation should be one of course, sides"),
        ({"seat": "last"}, "seat should be one of alternating, first, second"),
        ({"render_mode": "human"}, "render_mode"),
        ({"rows": 12, "columns": 12, "inarow": 5, "observation": "facts-1"}, "64"),
        ({"rows": 0}, "rows should be an integer of at least 1"),
    ],
)
def test_bad_options(options, message):
    for kind in (ConnectXEnv, ConnectXVectorEnv):
        with pytest.raises((ValueError, OSError), match=message):
            kind(**options)
    assert {"ConnectX-v0", "ConnectX-vec"} <= set(gymnasium.registry) and connectx_toolkit.training.environments


@pytest.mark.parametrize("column", [7, 9, -1, 2.0])
def test_what_is_no_column_is_said(column):
    """One game, many, and two sides: the range of actions, and what came; a game that goes on is not changed."""
    message = re.escape(f"an action should be a column from 0 to 6, not {column!r}")
    one, many, sides = ConnectXEnv(render_mode="ansi"), ConnectXVectorEnv(3), aec.TwoSides()
    one.reset(), many.reset()
    sides.reset()
    before = one.render(), one.action_masks().tolist()
    steps = (lambda: one.step(column), lambda: many.step(np.full(3, column)), lambda: sides.step(column))
    for step in steps:
        with pytest.raises(ValueError, match=message):
            step()
    assert (one.render(), one.action_masks().tolist()) == before
    one.step(np.int64(3))  # type: ignore[arg-type]
