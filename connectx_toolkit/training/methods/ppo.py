"""Proximal policy optimisation on ConnectX by stable-baselines3, against past versions of itself and named opponents.

The method is that of Schulman et al. (arXiv:1707.06347) as stable-baselines3 implements it; with ``--algorithm
maskable`` illegal columns get no probability (Huang and Ontanon, arXiv:2006.14171, sb3-contrib), with ``ppo`` that they
are illegal is learnt from the reward. In self-play, half of the games are against the newest version of the policy and
the rest against versions drawn from a pool of past ones.

Every ``--period`` steps, all that is needed to go on is saved, without pickle. Games in progress are then given up and
the generators seeded anew from the seed and the number of steps: an interrupted run makes the same policy as an
uninterrupted one. The protocol of Kaggle's course "Intro to Game AI" is the function ``course``.

The environments that it learns in are there for your own code. After ``import connectx_toolkit.training.environments``:

    gymnasium.make("ConnectX-v0", opponent="negamax")                   one game
    gymnasium.make_vec("ConnectX-vec", num_envs=500, opponent="self")   many, in numpy
    connectx_toolkit.training.environments.sb3.batch_env(500, opponent="minimax@2~10")   the same for stable-baselines3
    connectx_toolkit.training.environments.aec.env()                                     both sides, for PettingZoo

environments/setting.py has their options, docs/training.md a lesson; ``train.py adopt`` makes an agent of what
stable-baselines3 has trained in them.
"""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from connectx.geometry import Geometry, geometry_of
from connectx.nets.encoding import planes_of
from connectx.nets.network import Architecture, PlainNetwork, to_bytes
from connectx_toolkit.console.files import write_whole
from connectx_toolkit.console.progress import progress, tell_rate
from connectx_toolkit.training.environments.duels import ENDINGS, rewards_named
from connectx_toolkit.training.environments.observations import observation_named
from connectx_toolkit.training.environments.setting import ITSELF, Weighted, parts
from connectx_toolkit.training.games.batch import Games
from connectx_toolkit.training.games.connectx import ConnectX
from connectx_toolkit.training.games.opponents import opponent_named
from connectx_toolkit.training.games.players import Player, alternating, play_games, random_player, sample
from connectx_toolkit.training.learning import torch_state
from connectx_toolkit.training.support import checkpoint
from connectx_toolkit.training.support.device import NAMES, device_named
from connectx_toolkit.training.support.manifest import begin, publish
from connectx_toolkit.training.support.options import Options, option
from connectx_toolkit.training.support.plots import save_figure

ALGORITHMS = ("maskable", "ppo")
PAST_OPPONENTS = 3  # drawn from the pool for each period


@dataclass
class Config(Options):
    """Options of ``train.py ppo``."""

    METHOD = "ppo"

    algorithm: str = option("maskable", "maskable, or ppo, which has to learn what is legal", among=ALGORITHMS)
    opponent: str = option(
        "self+negamax", "self for past versions, a name such as random, negamax, one_step, minimax@2~10, or a mixture"
    )
    rewards: str = option("zero-sum", "course or zero-sum, see connectx_toolkit/training/environments/duels.py")
    board: str = option("6x7k4", "rows x columns k inarow")
    encoding: str = option("lines-1", "input planes, see connectx/nets/encoding.py")
    width: int = option(192, "numbers in the last hidden layer; the first has twice as many", least=1)
    steps: int = option(3_200_000, "moves of the learner in all", least=1)
    games: int = option(500, "games side by side", least=1)
    rollout: int = option(16, "moves in each game between two updates", least=1)
    batch: int = option(2000, "moves in a gradient step", least=2)
    epochs: int = option(3, "times that an update goes through its moves", least=1)
    learning_rate: float = option(1e-3, "of Adam at the start; it falls linearly to 0", above=0)
    discount: float = option(0.99, "gamma, for each move of the learner", above=0, most=1)
    gae: float = option(0.9, "lambda of generalised advantage estimation", least=0, most=1)
    entropy: float = option(0.02, "weight of the entropy bonus", least=0)
    pool: int = option(20, "past versions kept for self-play; one is added every period", least=1)
    period: int = option(160_000, "steps from one saved state to the next", least=1)
    test_opponent: str = option("negamax", "whom the curve shows games against")
    test_games: int = option(200, "games of each point of the curve", least=1)
    seed: int = option(0, "of everything")
    device: str = option(
        "cpu", "of torch; the games themselves are always played on the processor", among=NAMES, is_free=True
    )
    run: Path = option(Path("runs/ppo"), "folder of the saved state and the curve, for resuming")
    output: Path = option(Path(), "the policy's weights", in_run="ppo.bin")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("steps", "period"):
            if getattr(self, name) % self.update:
                raise ValueError(f"{name} should be a multiple of games x rollout = {self.update}")
        if self.update % self.batch == 1:  # advantages are divided by their standard deviation
            raise ValueError(f"batch should not leave a single step of {self.update}, as {self.batch} does")
        rewards_named(self.rewards, self.geometry)
        planes_of(self.encoding)
        observation_named(self.encoding, self.geometry)
        for name in {*self.opponents, self.test_opponent} - {ITSELF}:
            opponent_named(name, self.geometry, np.random.default_rng())

    @property
    def opponents(self) -> list[str]:
        return list(parts(self.opponent))

    @property
    def update(self) -> int:
        """Steps between two updates of the policy."""
        return self.games * self.rollout

    @property
    def geometry(self) -> Geometry:
        try:
            rows, columns, inarow = map(int, self.board.replace("k", "x").split("x"))
            return geometry_of(rows, columns, inarow)
        except ValueError:
            raise ValueError(f"board should read like 6x7k4, not {self.board!r}") from None

    @property
    def architecture(self) -> Architecture:
        geometry = self.geometry
        layers, heads = (("dense", 2 * self.width), ("dense", self.width)), (("policy", geometry.columns), ("value", 1))
        return Architecture(self.encoding, layers, heads, geometry[:3])


def course(**changes: Any) -> Config:
    """The protocol of Kaggle's course: 60,000 steps against random, illegal columns punished and not masked."""
    small = {"games": 20, "rollout": 50, "batch": 125, "epochs": 6, "period": 10_000, "test_opponent": "random"}
    rules = {"algorithm": "ppo", "opponent": "random", "rewards": "course", "steps": 60_000}
    sees = {"encoding": "tactics-1", "width": 128}
    return Config(**{**rules, **sees, **small, **changes})


def library():
    """connectx_toolkit.training.environments.sb3, imported when it is needed, for it takes seconds."""
    sys.modules.setdefault("gym", None)  # type: ignore[arg-type] # it would be imported to say that it is unmaintained
    from connectx_toolkit.training.environments import sb3

    return sb3


def network_player(network: PlainNetwork, rng: np.random.Generator | None = None) -> Player:
    """A policy as a player: a draw from its probabilities of the legal columns, or the most probable (no ``rng``)."""

    def player(games: Games, which: np.ndarray) -> np.ndarray:
        assert isinstance(games, ConnectX)
        logits, legal = network.judge_many(*games.bitboards(which))["policy"], games.legal()[which]
        return np.where(legal, logits, -np.inf).argmax(axis=1) if rng is None else sample(logits, legal, rng)

    return player


def points(player: Player, opponent: Player, count: int, geometry: Geometry) -> float:
    """The player's share of the points (a draw is half of one) in ``count`` games, seats alternating."""
    outcomes = play_games(ConnectX(count, geometry), (player, opponent), alternating(count, 1)).outcomes()
    return float((outcomes.mean() + 1) / 2)


class Trainer:
    """The policy, its past versions and its curve; ``advance`` takes all of them one period further."""

    def __init__(self, config: Config):
        torch.set_num_threads(1)  # the nets are too small to share
        self._sb3 = library()
        self._sb3.set_random_seed(config.seed)
        self.config, self.path = config, config.run / "checkpoint.bin"
        self.steps, self.seconds = 0, 0.0
        self.curve: list[dict[str, float]] = []
        self.model = self._sb3.ALGORITHMS[config.algorithm](
            "MlpPolicy",
            self._env([Weighted(1, random_player(np.random.default_rng()))]),
            learning_rate=lambda _: config.learning_rate * (1 - self.steps / config.steps),
            n_steps=config.rollout,
            batch_size=config.batch,
            n_epochs=config.epochs,
            gamma=config.discount,
            gae_lambda=config.gae,
            ent_coef=config.entropy,
            device=device_named(config.device),
            policy_kwargs={
                "features_extractor_class": self._sb3.Trunk,
                "features_extractor_kwargs": {"architecture": config.architecture},
                "net_arch": [],
            },
        )
        self.model.set_logger(self._sb3.Logger(None, []))  # its own would leave a folder in /tmp
        self.pool = [self._sb3.arrays_of(self.model.policy)]

    def _env(self, opponents: list[Weighted]):
        config = self.config
        board = dict(zip(("rows", "columns", "inarow"), config.geometry, strict=False))
        return self._sb3.batch_env(
            config.games, opponent=opponents, rewards=config.rewards, observation=config.encoding, **board
        )

    def network(self, arrays: dict[str, np.ndarray]) -> PlainNetwork:
        return PlainNetwork(self.config.architecture, arrays)

    @property
    def newest(self) -> PlainNetwork:
        return self.network(self.pool[-1])

    def _opponents(self, rng: np.random.Generator) -> list[Weighted]:
        """Those of the next period."""
        found: list[Weighted] = []
        for name in self.config.opponents:
            if name == ITSELF:
                past = [self.pool[rng.integers(len(self.pool))] for _ in range(PAST_OPPONENTS)]
                found.append(Weighted(0.5, network_player(self.newest, rng)))
                found += [Weighted(0.5 / PAST_OPPONENTS, network_player(self.network(old), rng)) for old in past]
            else:
                found.append(Weighted(1, opponent_named(name, self.config.geometry, rng)))
        return found

    def advance(self) -> None:
        """Trains for one period, or what is left, and adds a point to the curve."""
        config, started = self.config, time.process_time()
        rng = np.random.default_rng([config.seed, self.steps])
        self._sb3.set_random_seed(int(rng.integers(2**31)))
        env = self._env(self._opponents(rng))
        env.seed(int(rng.integers(2**31)))
        self.model.set_env(env)
        self.model.num_timesteps = self.steps
        self.model.learn(min(config.period, config.steps - self.steps), reset_num_timesteps=False)
        self.steps, arrays = self.model.num_timesteps, self._sb3.arrays_of(self.model.policy)
        self.pool = [*self.pool, arrays][-config.pool :]
        self.seconds += time.process_time() - started
        tester = opponent_named(config.test_opponent, config.geometry, np.random.default_rng(config.seed))
        test = points(network_player(self.newest), tester, config.test_games, config.geometry)
        shares = (env.counts / max(1, env.counts.sum())).tolist()
        point = {"steps": self.steps, "seconds": self.seconds, "test": test}
        self.curve.append(point | dict(zip(ENDINGS, shares, strict=True)))

    def save(self) -> None:
        policy = self.model.policy
        arrays = torch_state.arrays_of(policy.optimizer, policy=policy)
        arrays |= {f"pool:{i}:{name}": value for i, past in enumerate(self.pool) for name, value in past.items()}
        facts = {"steps": self.steps, "seconds": self.seconds, "curve": self.curve}
        checkpoint.save(self.path, self.config.settings, facts, arrays)

    def resume(self) -> None:
        """Goes back to the checkpoint, if there is one. Raises ValueError if it is damaged or of another run."""
        found = checkpoint.load(self.path, self.config.settings)
        if found is None:
            return
        with checkpoint.restoring(self.path):
            policy = self.model.policy
            torch_state.restore(found.arrays, policy.optimizer, policy=policy)
            self.pool = list(checkpoint.numbered(found.arrays, "pool").values())
            self.steps, self.seconds, self.curve = (found.facts[name] for name in ("steps", "seconds", "curve"))


def draw(curve: list[dict[str, float]], config: Config) -> Figure:
    """How the games of training ended, and the test, by steps."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot(xlabel="moves of the learner", ylabel="share of games", ylim=(-0.02, 1.02))
    steps = [point["steps"] for point in curve]
    for name in ENDINGS:
        axes.plot(steps, [point[name] for point in curve], label=f"training: {name}", alpha=0.7)
    tests = [point["test"] for point in curve]
    axes.plot(steps, tests, "k.-", label=f"points against {config.test_opponent}, most probable moves")
    axes.set_title(f"PPO on ConnectX {config.board} against {config.opponent}, seed {config.seed}")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def train(config: Config) -> Trainer:
    """Trains to the end, from the saved state if there is one, and publishes the policy's weights."""
    begin(config)
    trainer = Trainer(config)
    trainer.resume()
    started, before = time.perf_counter(), trainer.steps
    with progress(config.steps, "step", done=trainer.steps, delay=0) as bar:
        while trainer.steps < config.steps:
            trainer.advance()
            trainer.save()
            write_whole(config.run / "curve.json", json.dumps(trainer.curve, indent=1).encode())
            save_figure(draw(trainer.curve, config), config.run / "curve.png")
            last = trainer.curve[-1]
            so_far = f"{last['won']:.0%} won, {last['test']:.0%} of points v {config.test_opponent}"
            bar.set_postfix_str(so_far, refresh=False)
            bar.update(trainer.steps - bar.n)
    tell_rate(trainer.steps - before, "steps", started, trainer.model.device.type)
    facts: dict[str, Any] = {
        "steps": trainer.steps,
        "cpu_seconds": round(trainer.seconds),
        "parameters": config.architecture.size,
    }
    facts[f"points against {config.test_opponent}"] = trainer.curve[-1]["test"]
    publish(config, to_bytes(config.architecture, trainer.pool[-1]), facts)
    return trainer
