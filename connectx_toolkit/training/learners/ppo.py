"""Proximal policy optimisation on ConnectX by stable-baselines3, against past versions of itself and named opponents.

The method is that of Schulman et al. (arXiv:1707.06347) as stable-baselines3 implements it. With ``--algorithm
maskable``, illegal columns get no probability (Huang and Ontanon, arXiv:2006.14171, sb3-contrib). With ``ppo``, the
reward teaches that they are illegal. The opponents of ``--opponent`` get equal shares of the games. Half of the share
of "self" is against the newest policy, the rest against three past versions: by default a quarter of all games each,
and half of them against negamax. Both seats are learnt, on planes that mark lines and stones. Every twenty updates the
past versions are drawn again, and games in progress given up.

``--protocol course`` is the last lesson of Kaggle's *Intro to Game AI* course instead: 60,000 steps of
stable-baselines3's PPO with its defaults and the lesson's CNN, always moving first against random. The rewards are 1
for a win, -1 for a loss or a draw, -10 for an illegal column, and 1/42 for any other move. Then it plays 100 games
against random in Kaggle's environment, 50 from each seat. Columns are drawn from the policy; a random one replaces a
full one. The course reports 68 wins. The result is stable-baselines3's model.zip.

You can use its environments in your own code. After ``import connectx_toolkit.training.environments``:

    gymnasium.make("ConnectX-v0", opponent="negamax")                   one game
    gymnasium.make_vec("ConnectX-vec", num_envs=500, opponent="self")   many, in numpy
    connectx_toolkit.training.environments.sb3.batch_env(500, opponent="minimax@2~10")   the same for stable-baselines3
    connectx_toolkit.training.environments.aec.env()                                     both sides, for PettingZoo

docs/reference/environments.md has their options. ``train.py adopt`` makes an agent of the model.
"""

import io
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch

from connectx_core.encoding import planes_of
from connectx_core.network import Architecture, PlainNetwork, network_bytes
from connectx_core.position import Geometry
from connectx_toolkit.arena.match import play_rounds
from connectx_toolkit.kaggle.rules import OVERAGE, Rules
from connectx_toolkit.players.process import Setup
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system.console import progress, tell_rate
from connectx_toolkit.training.descent import device_named
from connectx_toolkit.training.environments.vector_env import ENDINGS, ITSELF, Setting, Weighted, parts
from connectx_toolkit.training.opponents import opponent_named
from connectx_toolkit.training.options import Options, device_option, flag, option
from connectx_toolkit.training.runs import begin_run, publish, save_curve
from connectx_toolkit.training.vector_games import (
    ConnectX,
    alternating,
    geometry_named,
    greedy_player,
    logits_in_numpy,
    play_games,
    sampling_player,
)

ALGORITHMS = ("maskable", "ppo")
VERSIONS, PAST_OPPONENTS = 20, 3  # past versions that are kept, and drawn from them for each period
PERIOD = 20  # updates with the same opponents
ROLLOUT, MINIBATCHES, EPOCHS = 16, 4, 3  # of an update: moves in each game; minibatches, gone through so many times
DISCOUNT, GAE_LAMBDA, ENTROPY = 0.99, 0.9, 0.02
TEST_OPPONENT, TEST_GAMES = "negamax", 200  # of each point of the curve
SELF_PLAY, COURSE = "self-play", "course"
COURSE_STEPS, COURSE_GAMES, COURSE_WINS = 60_000, 100, 68
COURSE_OPTIONS = ("seed", "device", "protocol", "run", "output")  # those that the course's protocol leaves open


@dataclass
class Config(Options):
    """Options of ``train.py ppo``."""

    METHOD = "ppo"

    algorithm: str = option("maskable", "maskable, or ppo, which has to learn what is legal", among=ALGORITHMS)
    opponent: str = option(
        "self+negamax", "self for past versions, a name such as random, negamax, one_step, minimax@2~10, or a mixture"
    )
    rewards: str = option("zero-sum", "course or zero-sum, see connectx_toolkit/training/environments/vector_env.py")
    board: str = option("6x7k4", "rows x columns k inarow")
    encoding: str = option("lines-1", "input planes, see connectx_core/encoding.py")
    width: int = option(192, "width of the last hidden layer; the first has twice as many", least=1)
    steps: int = option(3_200_000, "moves of the learner in all, in whole updates", least=1)
    games: int = option(500, "games played side by side; an update takes 16 moves of each", least=1)
    learning_rate: float = option(1e-3, "initial learning rate of Adam; falls linearly to 0", above=0)
    seed: int = option(0, "random seed", least=0)
    device: str = device_option("cpu")
    protocol: str = option(
        SELF_PLAY,
        "self-play, or course: the last lesson of Kaggle's course, which fixes all options but seed, device and paths",
        among=(SELF_PLAY, COURSE),
    )
    run: Path = option(Path("runs/ppo"), "folder for the curve")
    output: Path = option(Path(), "file to write: the policy's weights, or the course's model.zip", in_run="ppo.bin")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.protocol == COURSE:
            self._check_course()
        if self.steps % self.update:
            raise ValueError(f"steps should be a multiple of {ROLLOUT} x games = {self.update}, not {self.steps}")
        planes_of(self.encoding)
        Setting(self.opponent, "alternating", self.rewards, self.encoding, *self.geometry[:3])

    def _check_course(self) -> None:
        changed = [item.name for item in fields(self) if getattr(self, item.name) != item.default]
        if fixed := [flag(name) for name in changed if name not in COURSE_OPTIONS]:
            raise ValueError(f"--protocol course says what {', '.join(fixed)} is: leave it out")
        if self.output == self.run / "ppo.bin":
            self.output = self.run / "model.zip"

    @property
    def update(self) -> int:
        """Steps between two updates of the policy."""
        return self.games * ROLLOUT

    @property
    def geometry(self) -> Geometry:
        return geometry_named(self.board)

    @property
    def sizes(self) -> dict[str, int]:
        return dict(zip(("rows", "columns", "inarow"), self.geometry, strict=False))

    @property
    def architecture(self) -> Architecture:
        layers = (("dense", 2 * self.width), ("dense", self.width))
        heads = (("policy", self.geometry.columns), ("value", 1))
        return Architecture(self.encoding, layers, heads, self.geometry[:3])


def stable_baselines() -> ModuleType:
    """Our module of environments and networks for it, which takes seconds to import, and --help should not."""
    sys.modules.setdefault("gym", None)  # type: ignore[arg-type] # it would say that it is unmaintained
    from connectx_toolkit.training.environments import sb3

    torch.set_num_threads(1)  # the nets are too small to share
    return sb3


class SelfPlayTrainer:
    """The policy, its past versions and its curve; ``advance`` takes all of them one period further."""

    def __init__(self, config: Config):
        self._sb3 = sb3 = stable_baselines()
        self.config = config
        sb3.set_random_seed(config.seed)
        self.steps, self.seconds = 0, 0.0
        self.curve: list[dict[str, float]] = []
        self.model = sb3.ALGORITHM_CLASSES[config.algorithm](
            "MlpPolicy",
            self._env("random"),
            learning_rate=lambda _: config.learning_rate * (1 - self.steps / config.steps),
            n_steps=ROLLOUT,
            batch_size=config.update // MINIBATCHES,
            n_epochs=EPOCHS,
            gamma=DISCOUNT,
            gae_lambda=GAE_LAMBDA,
            ent_coef=ENTROPY,
            device=device_named(config.device),
            policy_kwargs={
                "features_extractor_class": sb3.Trunk,
                "features_extractor_kwargs": {"architecture": config.architecture},
                "net_arch": [],
            },
        )
        self.model.set_logger(sb3.Logger(None, []))  # its own would leave a folder in /tmp
        self.versions = [sb3.arrays_of(self.model.policy)]

    def _env(self, opponent: Any) -> Any:
        config = self.config
        options = {"opponent": opponent, "rewards": config.rewards, "observation": config.encoding}
        return self._sb3.batch_env(config.games, **options, **config.sizes)

    def version(self, number: int) -> PlainNetwork:
        return PlainNetwork(self.config.architecture, self.versions[number])

    def _opponents(self, rng: np.random.Generator) -> list[Weighted]:
        """Those of the next period."""
        opponents: list[Weighted] = []
        for name in parts(self.config.opponent):
            if name == ITSELF:
                numbers = [-1, *(int(rng.integers(len(self.versions))) for _ in range(PAST_OPPONENTS))]
                weights = [0.5] + [0.5 / PAST_OPPONENTS] * PAST_OPPONENTS
                players = [sampling_player(logits_in_numpy(self.version(each), "policy"), rng) for each in numbers]
                opponents += map(Weighted, weights, players)
            else:
                opponents.append(Weighted(1, opponent_named(name, self.config.geometry, rng)))
        return opponents

    def advance(self) -> None:
        """Trains for one period, or what is left, and adds a point to the curve."""
        config, started = self.config, time.process_time()
        rng = np.random.default_rng([config.seed, self.steps])
        self._sb3.set_random_seed(int(rng.integers(2**31)))
        env = self._env(self._opponents(rng))
        env.seed(int(rng.integers(2**31)))
        self.model.set_env(env)
        self.model.num_timesteps = self.steps
        steps = min(PERIOD * config.update, config.steps - self.steps)
        self.model.learn(steps, reset_num_timesteps=False)
        self.steps = self.model.num_timesteps
        self.versions = [*self.versions, self._sb3.arrays_of(self.model.policy)][-VERSIONS:]
        self.seconds += time.process_time() - started
        shares = (env.counts / max(1, env.counts.sum())).tolist()
        self.curve.append({"steps": self.steps, "test": self.test()} | dict(zip(ENDINGS, shares, strict=True)))

    def test(self) -> float:
        """The newest version's share of the points in TEST_GAMES against TEST_OPPONENT; a draw is half a point."""
        geometry = self.config.geometry
        players = (
            greedy_player(logits_in_numpy(self.version(-1), "policy")),
            opponent_named(TEST_OPPONENT, geometry, np.random.default_rng(self.config.seed)),
        )
        played = play_games(ConnectX(TEST_GAMES, geometry), players, alternating(TEST_GAMES, 1))
        return float((played.outcomes().mean() + 1) / 2)


class CourseRun(NamedTuple):
    """What ``--protocol course`` made and measured."""

    model: Any  # stable-baselines3's PPO
    won: tuple[int, int]  # of the games moving first, and moving second
    seconds: float  # of processor time in training

    @property
    def score(self) -> str:
        wins = f"{sum(self.won)} of {COURSE_GAMES} games won against random"
        return f"{wins}, {self.won[0]} moving first and {self.won[1]} second (the course: {COURSE_WINS})"


def course_agent(model: Any, seed: int) -> Callable[[Any, Any], int]:
    """The lesson's agent: a column drawn from the policy; for a full one, a random column that is not."""
    draws = random.Random(seed)

    def agent(obs, config):
        column, _ = model.predict(np.array(obs.board).reshape(1, config.rows, config.columns))
        legal = [number for number in range(config.columns) if obs.board[number] == 0]
        return int(column) if column in legal else draws.choice(legal)

    return agent


def course_wins(model: Any, seed: int) -> tuple[int, int]:
    """Games won of COURSE_GAMES against Kaggle's random, in its environment: moving first, and moving second."""
    stable_baselines().set_random_seed(seed)  # of what the policy draws
    pair = resolve(course_agent(model, seed)), resolve("random")
    match = play_rounds(pair, COURSE_GAMES, Setup(Rules({}, OVERAGE), "kaggle", isolate=False), 1, seed)
    return match.side(0, 0).tally.wins, match.side(0, 1).tally.wins


def train_course(config: Config) -> CourseRun:
    """The course's steps, its games against random, and the model."""
    begin_run(config)
    sb3, started = stable_baselines(), time.process_time()
    env = gymnasium.make("ConnectX-v0", opponent="random", seat="first", rewards="course", observation="course")
    model = sb3.PPO(
        "CnnPolicy",
        env,
        policy_kwargs={"features_extractor_class": sb3.CourseCNN},
        seed=config.seed,
        device=device_named(config.device),
    )
    model.set_logger(sb3.Logger(None, []))
    with progress(COURSE_STEPS, "step", delay=0) as bar:
        while model.num_timesteps < COURSE_STEPS:
            model.learn(model.n_steps, reset_num_timesteps=False)  # one update, which goes on in the same game
            bar.update(model.n_steps)
    seconds = time.process_time() - started
    run = CourseRun(model, course_wins(model, config.seed), seconds)
    content = io.BytesIO()
    model.save(content)
    facts = {"steps": model.num_timesteps, "cpu_seconds": round(seconds), "won against random": list(run.won)}
    publish(config, content.getvalue(), facts, run.score)
    return run


def train(config: Config) -> "SelfPlayTrainer | CourseRun":
    """Trains by the protocol that the options name."""
    return train_course(config) if config.protocol == COURSE else train_by_self_play(config)


def train_by_self_play(config: Config) -> SelfPlayTrainer:
    """Trains to the end, plots how its games ended and the test, and publishes the policy's weights."""
    begin_run(config)
    trainer, started = SelfPlayTrainer(config), time.perf_counter()
    with progress(config.steps, "step", delay=0) as bar:
        while trainer.steps < config.steps:
            trainer.advance()
            last = trainer.curve[-1]
            so_far = f"{last['won']:.0%} won, {last['test']:.0%} of points v {TEST_OPPONENT}"
            bar.set_postfix_str(so_far, refresh=False)
            bar.update(trainer.steps - bar.n)
    tell_rate(trainer.steps, "steps", started, trainer.model.device.type)
    curve_steps, *shares = np.array([list(point.values()) for point in trainer.curve]).T
    names = [f"points v {TEST_OPPONENT}, most probable moves", *(f"training: {name}" for name in ENDINGS)]
    curves = {name: (curve_steps, share) for name, share in zip(names, shares, strict=True)}
    save_curve(config.run / "curve.png", "moves of the learner", "share of games", curves)
    points = trainer.curve[-1]["test"]
    facts = {
        "steps": trainer.steps,
        "cpu_seconds": round(trainer.seconds),
        "parameters": config.architecture.size,
        f"points against {TEST_OPPONENT}": points,
    }
    score = f"{points:.1%} of the points in {TEST_GAMES} games against {TEST_OPPONENT}"
    publish(config, network_bytes(config.architecture, trainer.versions[-1]), facts, score)
    return trainer
