"""Proximal policy optimisation on ConnectX by stable-baselines3, against a named opponent or past versions of itself.

The method is that of Schulman et al. (arXiv:1707.06347) as stable-baselines3 implements it; with ``--algorithm
maskable`` illegal columns get no probability (Huang and Ontanon, arXiv:2006.14171, sb3-contrib), with ``ppo`` that they
are illegal is learnt from the reward. In self-play, half of the games are against the newest version of the policy and
the rest against versions drawn from a pool of past ones.

Every ``--period`` steps, all that is needed to go on is saved, without pickle. Games in progress are then given up and
the generators seeded anew from the seed and the number of steps: an interrupted run makes the same policy as an
uninterrupted one. The protocol of Kaggle's course "Intro to Game AI" is the function ``course``.
"""

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from connectx.geometry import Geometry, geometry_of
from connectx.nets import Architecture, PlainNetwork, to_bytes
from connectx.weights import pack, unpack
from console.files import write_whole
from console.progress import progress
from training.environments.connectx import ENDINGS, Duels, observation_space, rewards_named
from training.games.batch import Games
from training.games.connectx import ConnectX
from training.games.opponents import opponent_named
from training.games.players import Player, alternating, play_games, random_player, sample
from training.support.manifest import check_output, publish
from training.support.options import command_of, option
from training.support.plots import save_figure

SELF = "self"
ALGORITHMS = ("maskable", "ppo")
PAST_OPPONENTS = 3  # drawn from the pool for each period


@dataclass
class Config:
    """What ``train.py ppo`` can be told."""

    algorithm: str = option("maskable", "maskable, or ppo, which has to learn what is legal")
    opponent: str = option(SELF, "self for past versions, or a name: random, negamax, one_step, minimax@2~10")
    rewards: str = option("zero-sum", "course or zero-sum, see training/environment.py")
    board: str = option("6x7k4", "rows x columns k inarow")
    encoding: str = option("tactics-1", "input planes, see connectx/encoding.py")
    width: int = option(128, "numbers in the last hidden layer; the first has twice as many")
    steps: int = option(2_048_000, "moves of the learner in all")
    games: int = option(125, "games side by side")
    rollout: int = option(32, "moves in each game between two updates")
    batch: int = option(500, "moves in a gradient step")
    epochs: int = option(3, "times that an update goes through its moves")
    learning_rate: float = option(1e-3, "of Adam at the start; it falls linearly to 0")
    discount: float = option(0.99, "gamma, for each move of the learner")
    gae: float = option(0.9, "lambda of generalised advantage estimation")
    entropy: float = option(0.02, "weight of the entropy bonus")
    pool: int = option(20, "past versions kept for self-play; one is added every period")
    period: int = option(64_000, "steps from one saved state to the next")
    test_opponent: str = option("minimax@2~10", "whom the curve shows games against")
    test_games: int = option(100, "games of each point of the curve")
    seed: int = option(0, "of everything")
    folder: Path = option(Path("runs/ppo"), "of the saved state and the curve, for resuming")
    output: Path = option(Path("agents/weights/ppo.bin"), "the policy's weights")

    def __post_init__(self) -> None:
        for name in ("width", "steps", "games", "rollout", "batch", "epochs", "pool", "period", "test_games"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} should be at least 1, not {getattr(self, name)}")
        for name in ("steps", "period"):
            if getattr(self, name) % self.update:
                raise ValueError(f"{name} should be a multiple of games x rollout = {self.update}")
        if self.batch < 2 or self.update % self.batch == 1:  # advantages are divided by their standard deviation
            raise ValueError(f"batch should be at least 2 and not leave a single step of {self.update}")
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm should be one of {', '.join(ALGORITHMS)}, not {self.algorithm!r}")
        if self.games < 2 * PAST_OPPONENTS:
            raise ValueError(f"games should be at least {2 * PAST_OPPONENTS}, not {self.games}")
        rewards_named(self.rewards, self.geometry)
        observation_space(self.geometry, self.encoding)
        for name in {self.opponent} - {SELF} | {self.test_opponent}:
            opponent_named(name, self.geometry, np.random.default_rng())

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
    return Config(**{**rules, **small, **changes})


def library():
    """training.environments.sb3, imported when it is needed, for it takes seconds."""
    sys.modules.setdefault("gym", None)  # type: ignore[arg-type] # it would be imported to say that it is unmaintained
    from training.environments import sb3

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
        self.config, self.steps, self.seconds = config, 0, 0.0
        self.curve: list[dict[str, float]] = []
        self.model = self._sb3.ALGORITHMS[config.algorithm](
            "MlpPolicy",
            self._env([(config.games, random_player(np.random.default_rng()))]),
            learning_rate=lambda _: config.learning_rate * (1 - self.steps / config.steps),
            n_steps=config.rollout,
            batch_size=config.batch,
            n_epochs=config.epochs,
            gamma=config.discount,
            gae_lambda=config.gae,
            ent_coef=config.entropy,
            device="cpu",
            policy_kwargs={
                "features_extractor_class": self._sb3.Trunk,
                "features_extractor_kwargs": {"architecture": config.architecture},
                "net_arch": [],
            },
        )
        self.model.set_logger(self._sb3.Logger(None, []))  # its own would leave a folder in /tmp
        self.pool = [self._sb3.arrays_of(self.model.policy)]

    def _env(self, opponents: list[tuple[int, Player]]):
        geometry = self.config.geometry
        duels = Duels(opponents, geometry, rewards_named(self.config.rewards, geometry), self.config.encoding)
        return self._sb3.BatchEnv(duels)

    def network(self, arrays: dict[str, np.ndarray]) -> PlainNetwork:
        return PlainNetwork(self.config.architecture, arrays)

    @property
    def newest(self) -> PlainNetwork:
        return self.network(self.pool[-1])

    def _opponents(self, rng: np.random.Generator) -> list[tuple[int, Player]]:
        """(games, opponent) of the next period."""
        games = self.config.games
        if self.config.opponent != SELF:
            return [(games, opponent_named(self.config.opponent, self.config.geometry, rng))]
        share = games // (2 * PAST_OPPONENTS)
        past = [self.pool[rng.integers(len(self.pool))] for _ in range(PAST_OPPONENTS)]
        shares = [games - share * PAST_OPPONENTS, *[share] * PAST_OPPONENTS]
        versions = [self.pool[-1], *past]
        return [(n, network_player(self.network(arrays), rng)) for n, arrays in zip(shares, versions, strict=True)]

    def advance(self) -> None:
        """Trains for one period, or what is left, and adds a point to the curve."""
        config, started = self.config, time.process_time()
        rng = np.random.default_rng([config.seed, self.steps])
        self._sb3.set_random_seed(int(rng.integers(2**31)))
        env = self._env(self._opponents(rng))
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

    def to_bytes(self) -> bytes:
        """All that a run needs to go on, as a container of connectx.weights."""
        arrays = {f"policy:{name}": value.numpy() for name, value in self.model.policy.state_dict().items()}
        for index, state in self.model.policy.optimizer.state_dict()["state"].items():
            arrays |= {f"adam:{index}:{name}": value.numpy() for name, value in state.items()}
        for version, past in enumerate(self.pool):
            arrays |= {f"pool:{version}:{name}": value for name, value in past.items()}
        facts = {"config": identity(self.config), "steps": self.steps, "seconds": self.seconds, "curve": self.curve}
        return pack(arrays, facts)

    def restore(self, content: bytes) -> None:
        """Goes back to a saved state.

        Raises:
            ValueError: it is damaged, or that of a run with another configuration.
        """
        arrays, facts = unpack(content)
        if not isinstance(facts, dict) or set(facts) != {"config", "steps", "seconds", "curve"}:
            raise ValueError("the saved state is not one of a run of ppo: give another --folder")
        mine = identity(self.config)
        other = {key: facts["config"].get(key) for key, value in mine.items() if facts["config"].get(key) != value}
        if other:
            raise ValueError(f"the run was begun with {other}; give the same options, or another --folder")
        policy: dict[str, torch.Tensor] = {}
        adam: dict[int, dict[str, torch.Tensor]] = {}
        pool: dict[int, dict[str, np.ndarray]] = {}
        for key, value in arrays.items():
            part, _, name = key.partition(":")
            if part == "policy":
                policy[name] = torch.from_numpy(value)
                continue
            index, _, name = name.partition(":")
            if part == "adam":
                adam.setdefault(int(index), {})[name] = torch.from_numpy(value)
            else:
                pool.setdefault(int(index), {})[name] = value
        optimizer = self.model.policy.optimizer
        try:
            self.model.policy.load_state_dict(policy)
            optimizer.load_state_dict({**optimizer.state_dict(), "state": adam})
        except (KeyError, TypeError, AttributeError, RuntimeError) as fault:
            raise ValueError(f"the saved state is damaged: {fault!r:.200}") from None
        self.pool = [pool[index] for index in sorted(pool)]
        self.steps, self.seconds, self.curve = facts["steps"], facts["seconds"], facts["curve"]


def identity(config: Config) -> dict[str, Any]:
    """The options that decide what a run makes, as JSON has them."""
    return {name: value for name, value in asdict(config).items() if not isinstance(value, Path)}


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
    check_output(config.output)
    saved = config.folder / "state.bin"
    trainer = Trainer(config)
    if saved.exists():
        trainer.restore(saved.read_bytes())
    with progress(config.steps, "step", done=trainer.steps, delay=0) as bar:
        while trainer.steps < config.steps:
            trainer.advance()
            write_whole(saved, trainer.to_bytes())
            write_whole(config.folder / "curve.json", json.dumps(trainer.curve, indent=1).encode())
            save_figure(draw(trainer.curve, config), config.folder / "curve.png")
            last = trainer.curve[-1]
            bar.set_postfix_str(f"{last['won']:.0%} won, {last['test']:.0%} of points v {config.test_opponent}")
            bar.update(trainer.steps - bar.n)
    facts: dict[str, Any] = {
        "steps": trainer.steps,
        "cpu_seconds": round(trainer.seconds),
        "parameters": config.architecture.size,
    }
    facts[f"points against {config.test_opponent}"] = trainer.curve[-1]["test"]
    publish(config.output, to_bytes(config.architecture, trainer.pool[-1]), command_of("ppo", config), facts)
    return trainer
