"""Agents that misbehave on request, and a worker that replies by script, to test the referees with."""

import ctypes
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from connectx_toolkit.players.protocol import Opaque, Reply


class Case(NamedTuple):
    """An agent that fails on its first move, and what a referee should make of it."""

    agent: Callable
    kind: str
    status: str


def returning(value: Any) -> Callable:
    def agent(obs, config):
        return value

    return agent


def raising(problem: BaseException) -> Callable:
    def agent(obs, config):
        raise problem

    return agent


def sleeping(seconds: float) -> Callable:
    def agent(obs, config):
        time.sleep(seconds)
        return 0

    return agent


def spinning(obs, config):
    while True:
        pass


def segfaulting(obs, config):
    ctypes.string_at(0)


def calling_itself(obs, config):
    return calling_itself(obs, config)


def exiting_hard(obs, config):
    os._exit(3)


def closing_everything(obs, config):
    os.closerange(3, 1024)
    return 0


class ReprRaises:
    def __repr__(self):
        raise RuntimeError("no repr")


class Count(int):
    pass


class HasIndex:
    def __index__(self):
        return 3


async def coroutine(obs, config):
    return 0


# With actTimeout 0.2 and overage time of 0.2 seconds.
CASES = {
    "float": Case(returning(3.0), "float", "ERROR"),
    "numpy float": Case(returning(np.float64(3)), "float", "ERROR"),
    "fraction": Case(returning(3.5), "not an integer", "INVALID"),
    "negative float": Case(returning(-1.0), "not an integer", "INVALID"),
    "float beyond": Case(returning(7.0), "no such column", "INVALID"),
    "nan": Case(returning(float("nan")), "not an integer", "INVALID"),
    "numpy int": Case(returning(np.int64(3)), "not an integer", "INVALID"),
    "array": Case(returning(np.array([3])), "not an integer", "INVALID"),
    "bool": Case(returning(True), "not an integer", "INVALID"),
    "text": Case(returning("3"), "not an integer", "INVALID"),
    "list": Case(returning([3]), "not an integer", "INVALID"),
    "tuple": Case(returning((3, None)), "not an integer", "INVALID"),
    "index": Case(returning(HasIndex()), "not an integer", "INVALID"),
    "no repr": Case(returning(ReprRaises()), "not an integer", "INVALID"),
    "negative": Case(returning(-1), "no such column", "INVALID"),
    "beyond": Case(returning(7), "no such column", "INVALID"),
    "huge": Case(returning(10**30), "no such column", "INVALID"),
    "unprintable": Case(returning(10**5000), "no such column", "INVALID"),
    "unprintable subclass": Case(returning(Count(10**5000)), "no such column", "INVALID"),
    "unprintable, negative": Case(returning(-(10**5000)), "no such column", "INVALID"),
    "raises": Case(raising(KeyError("x")), "exception", "ERROR"),
    "returns an exception": Case(returning(ValueError("x")), "exception", "ERROR"),
    "recursion": Case(calling_itself, "exception", "ERROR"),
    "exits": Case(lambda obs, config: sys.exit(0), "exit", "ERROR"),
    "interrupts": Case(raising(KeyboardInterrupt()), "exit", "ERROR"),
    "exits hard": Case(exiting_hard, "crash", "ERROR"),
    "segfault": Case(segfaulting, "crash", "ERROR"),
    "closes its socket": Case(closing_everything, "crash", "ERROR"),
    "too slow": Case(sleeping(0.5), "timeout", "TIMEOUT"),
    "spins": Case(spinning, "hang", "TIMEOUT"),
    "sleeps": Case(sleeping(1000), "hang", "TIMEOUT"),
}

# What a scripted agent may do instead of a legal move: action and fault of the reply.
MISDEEDS: list[tuple[Any, str | None]] = [
    (3.0, None), (-2.0, None), (99.0, None), (0.5, None), (float("inf"), None), (Opaque("int64", "3"), None),
    (-1, None), (99, None), (10**30, None), (None, "exception"), (None, "load"), (None, "exit"), (None, "crash"),
]  # fmt: skip


class Clock:
    """Stands in for time.perf_counter: moves on when an agent "thinks"."""

    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class ScriptedPlayer:
    """Has the interface of a Player. Its replies, durations included, follow from the game's seed and the ply alone."""

    def __init__(self, clock: Clock):
        self.clock = clock

    def begin(self, config: dict, seed: int) -> None:
        self.config, self.seed = config, seed

    def ask(self, ply: int, mark: int, overage: float, board: bytes, act_timeout: float) -> Reply:
        rng = random.Random(f"{self.seed}/{ply}")
        seconds = rng.choice([0.0, 0.25, act_timeout, act_timeout + 0.5, act_timeout + 2.0])
        self.clock.now += seconds
        action, fault = self._action(rng, board)
        return Reply(action, seconds, fault, "scripted" if fault else "")

    def _action(self, rng: random.Random, board: bytes) -> tuple[Any, str | None]:
        lot = rng.random()
        if lot < 0.02:
            return rng.choice(MISDEEDS)
        if lot < 0.06:
            return None, None
        columns = self.config["columns"]
        if lot < 0.07:
            return rng.randrange(columns), None  # full columns included
        return rng.choice([column for column in range(columns) if not board[column]]), None


CONFIGS: list[dict] = [
    {},
    {"rows": 4, "columns": 5, "inarow": 3},
    {"rows": 5, "columns": 4, "inarow": 3},
    {"rows": 9, "columns": 8, "inarow": 5},
    {"rows": 3, "columns": 3, "inarow": 3},
    {"rows": 1, "columns": 7, "inarow": 4},
    {"rows": 7, "columns": 1, "inarow": 8},
    {"rows": 12, "columns": 12, "inarow": 5},
    {"episodeSteps": 12},
    {"actTimeout": 0.5},
    {"runTimeout": 20},
]


def scripted_games(count: int, seed: int, referees):
    """Plays ``count`` scripted games with each referee and yields the list of their verdicts, game by game.

    Kaggle's clock must be the one given in ``referees``: pairs of a referee and a Clock.
    """
    from connectx_toolkit.kaggle.rules import Rules

    rng = random.Random(seed)
    for index in range(count):
        rules = Rules(rng.choice(CONFIGS), overage=rng.choice([2.0, 6.0, 60.0]))
        opening = [rng.randrange(rules.config["columns"]) for _ in range(rng.choice([0, 0, 1, 2]))]
        if rules.config["rows"] < 2:
            opening = []
        verdicts = []
        for referee, clock in referees:
            players = [ScriptedPlayer(clock), ScriptedPlayer(clock)]
            verdicts.append(referee(players, rules, opening, [2 * index, 2 * index + 1]))
        yield verdicts
