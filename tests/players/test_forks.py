"""Callables that hold what does not survive a fork by itself: threads of torch and of others, tensors elsewhere."""

import contextlib
import multiprocessing
import subprocess
import sys
import time

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO

from connectx_toolkit.kaggle.rules import DEFAULTS
from connectx_toolkit.players.child import _libraries_with
from connectx_toolkit.players.process import AgentProcess
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system.files import ROOT
from evaluate import get_win_percentages
from tests.conftest import LINUX, TWO_CORES

pytestmark = pytest.mark.slow


def open_column(wishes, board) -> int:
    return max((column for column in range(7) if not board[column]), key=lambda column: wishes[column])


class Columns(gymnasium.Env):
    """A move a game: the middle column is right. Enough to train on."""

    observation_space = gymnasium.spaces.Box(0, 2, (1, 6, 7), np.int8)
    action_space = gymnasium.spaces.Discrete(7)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros((1, 6, 7), np.int8), {}

    def step(self, action):
        return np.zeros((1, 6, 7), np.int8), float(action == 3), True, False, {}


@pytest.fixture(scope="module")
def network() -> torch.nn.Module:
    """Trained for one step on 4,096 boards, which starts torch's threads."""
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.Flatten(), torch.nn.Linear(16 * 42, 7))
    net(torch.randn(4096, 1, 6, 7)).square().mean().backward()
    return net


@pytest.fixture
def convolutional(network):
    def agent(obs, config):
        with torch.no_grad():
            return open_column(network(torch.tensor(obs.board).reshape(1, 1, 6, 7).float())[0], obs.board)

    return agent


@pytest.fixture
def of_stable_baselines(network):
    """As the last lesson of Kaggle's course makes one."""
    model = PPO("MlpPolicy", Columns(), n_steps=256, batch_size=256, n_epochs=1, device="cpu").learn(256)

    def agent(obs, config):
        column, _ = model.predict(np.array(obs.board, np.int8).reshape(1, 6, 7))
        return int(column) if not obs.board[column] else open_column([0] * 7, obs.board)

    return agent


def first_move(agent, limit: float = 20.0):
    with contextlib.closing(AgentProcess(resolve(agent))) as worker:
        worker.begin(DEFAULTS, 1)
        return worker.ask(0, 1, limit, bytes(42), 2)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=TWO_CORES)])
@pytest.mark.parametrize("name", ["convolutional", "of_stable_baselines"])
def test_models_trained_here_play(name, workers, request, capsys):
    start = time.perf_counter()
    rounds = get_win_percentages(request.getfixturevalue(name), "random", 20, workers=workers)
    assert time.perf_counter() - start < 60
    assert len(rounds.games) == 20 and rounds.forfeits == (0, 0)


@LINUX
def test_a_fork_uses_one_thread(network):
    """It shares one core with its opponent: torch and OpenBLAS, whose threads come back in a fork, are told so."""

    def threads(obs, config):
        network(torch.randn(512, 1, 6, 7))
        np.linalg.inv(np.random.rand(400, 400))
        getters = [f"{p}openblas_get_num_threads{s}" for p in ("", "scipy_") for s in ("", "64_")]
        counts = [
            getattr(library, name)()
            for library in _libraries_with("openblas")
            for name in getters
            if hasattr(library, name)
        ]
        return 100 * torch.get_num_threads() + 10 * len(counts) + max(counts)

    number = first_move(threads).action
    assert number // 100 == 1 and number % 10 == 1 and number % 100 > 10


@LINUX
def test_a_fork_may_have_more_threads(convolutional):
    """The pool that was lost is not missed, whatever the agent asks for."""

    def agent(obs, config):
        torch.set_num_threads(2)
        torch.nn.Conv2d(1, 16, 3)(torch.randn(512, 1, 6, 7))
        return convolutional(obs, config)

    reply = first_move(agent)
    assert reply.fault is None and reply.action in range(7)


def train_and_ask(answers) -> None:
    """In a process that was forked from one with a pool: it may end no pool, for it cannot know its own."""
    net = torch.nn.Conv2d(1, 16, 3)
    torch.set_num_threads(1)
    answers.put(first_move(lambda obs, config: int(net(torch.randn(256, 1, 6, 7)).shape[1])).action)


@LINUX
def test_a_fork_of_a_fork(network):
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    process = context.Process(target=train_and_ask, args=(answers,))
    process.start()
    process.join(30)
    process.kill()
    assert not answers.empty() and answers.get() == 16


LOST = {
    "numba": (
        """
import numba, numpy
@numba.njit(parallel=True)
def total(a):
    s = 0.0
    for i in numba.prange(a.shape[0]):
        s += a[i]
    return s
total(numpy.ones(9))
def agent(obs, config):
    return obs.board.index(0) + int(total(numpy.zeros(3)))
""",
        "crash",
    ),
    "jax": (
        """
import jax, jax.numpy as jnp
double = jax.jit(lambda x: 2 * x)
double(jnp.ones(3))
def agent(obs, config):
    return obs.board.index(0) + int(double(jnp.zeros(3))[0])
""",
        "agent cannot be loaded: JAX runs in this process",
    ),
}


@LINUX
@pytest.mark.parametrize("library", LOST)
def test_threads_that_cannot_be_brought_along(library):
    """What went wrong is told, with a way that works. In a process of its own: these threads would stay in ours."""
    pytest.importorskip(library, reason=f"needs {library}: pip install {library}")
    source, told = LOST[library]
    code = f"""{source}
from evaluate import get_win_percentages
for options in ({{}}, {{"workers": 2}}):
    try:
        get_win_percentages(agent, "random", 2, **options)
    except ValueError as problem:
        print(problem)
print(get_win_percentages(agent, "random", 2, isolate=False).forfeits)
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    lines = [line for line in done.stdout.splitlines() if told in line]
    assert lines and all("isolate=False" in line for line in lines)
    assert done.stdout.splitlines()[-1] == "(0, 0)"
