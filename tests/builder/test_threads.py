"""Kaggle's server calls each move in a new thread: what fails there is rejected, and what plays there is accepted."""

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from connectx_toolkit.builder.preflight.check import BY_THREADS, run_preflight
from connectx_toolkit.builder.preflight.trial import Runner
from connectx_toolkit.kaggle.replies import NewThreads
from tests.conftest import wait_until

# Agents: those that fail name a word of the cure.
AGENTS = """
#### a signal in the agent; time.perf_counter()
import signal
def agent(obs, config):
    signal.signal(signal.SIGALRM, print)
    return free(obs)[0]

#### a signal at load; time.perf_counter()
import signal
signal.signal(signal.SIGALRM, print)
def agent(obs, config):
    return free(obs)[0]

#### local; use a global
import threading
memory = threading.local()
memory.moves = 0
def agent(obs, config):
    memory.moves += 1
    return free(obs)[0]

#### sqlite3; check_same_thread=False
import sqlite3
book = sqlite3.connect(":memory:")
def agent(obs, config):
    book.execute("select 1").fetchone()
    return free(obs)[0]

#### sqlite3 from the first move; check_same_thread=False
import sqlite3
book = None
def agent(obs, config):
    global book
    book = book or sqlite3.connect(":memory:")
    book.execute("select 1").fetchone()
    return free(obs)[0]

#### the thread's loop; asyncio.run
import asyncio
async def think(columns):
    return columns[0]
def agent(obs, config):
    return asyncio.get_event_loop().run_until_complete(think(free(obs)))

#### grad switched off at load; torch.no_grad()
import torch
net = torch.nn.Linear(42, 7)
torch.set_grad_enabled(False)
def agent(obs, config):
    values = net(torch.tensor(obs.board).float()).numpy()
    return max(free(obs), key=lambda c: values[c])

#### all that plays in any thread
import asyncio, sqlite3, subprocess, sys, threading, time, torch
from concurrent.futures import ThreadPoolExecutor
memory = threading.local()
book = sqlite3.connect(":memory:", check_same_thread=False)
net = torch.nn.Linear(42, 7)
pool = ThreadPoolExecutor(2)
async def think(columns):
    return columns
def agent(obs, config):
    time.sleep(0.001)
    memory.moves = getattr(memory, "moves", 0) + 1
    book.execute("select 1").fetchone()
    subprocess.run([sys.executable, "-c", ""])
    columns = list(pool.map(abs, asyncio.run(think(free(obs)))))
    with torch.no_grad():
        values = net(torch.tensor(obs.board).float()).numpy()
    return max(columns, key=lambda c: values[c])
"""
FREE = "def free(obs):\n    return [c for c in range(7) if obs.board[c] == 0]\n\n"
SITUATIONS = {title: FREE + source for title, _, source in (each.partition("\n") for each in AGENTS.split("#### ")[1:])}


@pytest.fixture(scope="module")
def server() -> Iterator[Callable[[Path], list[str]]]:
    """Kaggle's own server: the replies to a game's first, third and fifth move from one seat, by a file's path."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    main = "from kaggle_environments.main import main; main()"
    command = [sys.executable, "-c", main, "http-server", "--port", port, "--host", "127.0.0.1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def is_up() -> bool:
        with closing(socket.socket()) as client:
            return client.connect_ex(("127.0.0.1", int(port))) == 0

    def reply(path: Path, step: int) -> str:
        board = [0] * 35 + [1, 2] * (step // 2) + [0] * (7 - step)
        state: dict[str, Any] = {"observation": {"board": board, "mark": 1, "step": step, "remainingOverageTime": 60}}
        state |= {"reward": 0, "status": "ACTIVE", "info": {}, "action": 0}
        asked = {"action": "act", "environment": "connectx", "agents": [str(path)], "configuration": {}, "state": state}
        body, kind = json.dumps(asked).encode(), {"Content-Type": "application/json"}
        with urllib.request.urlopen(
            urllib.request.Request(f"http://127.0.0.1:{port}/", body, kind), timeout=60
        ) as said:
            return str(json.loads(said.read())["action"])

    def replies(path: Path) -> list[str]:
        """Between two moves a connection waits: its thread has the number of the last one, which no move has then."""
        said = []
        with ExitStack() as waiting:
            for step in (0, 2, 4, 6):
                said.append(reply(path, step))
                time.sleep(0.02)  # until the move's thread has ended
                waiting.enter_context(closing(socket.create_connection(("127.0.0.1", int(port)))))
        return said

    wait_until(is_up)
    yield replies
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner() as started:
        yield started


@pytest.mark.parametrize("title", SITUATIONS)
def test_it_is_accepted_if_kaggles_server_plays_it(title, server, runner, tmp_path):
    cure = title.partition("; ")[2]
    path = tmp_path / "agent.py"
    path.write_text(SITUATIONS[title])
    replies = server(path)
    report = run_preflight(path, runner)
    assert report.accepted == (not any(reply.startswith("BaseException") for reply in replies)) == (not cure), report
    said = " ".join(finding.text for finding in report.findings)
    assert cure in said and (BY_THREADS in said) == bool(cure)


def test_a_fault_that_is_none_of_threads(runner, tmp_path):
    path = tmp_path / "agent.py"
    path.write_text("def agent(obs, config):\n    return [0][obs.step // 4]\n")
    report = run_preflight(path, runner)
    assert not report.accepted and BY_THREADS not in " ".join(finding.text for finding in report.findings)


def test_no_two_moves_share_a_threads_number():
    call, numbers = NewThreads().call, list[int]()
    for _ in range(20):
        call(lambda: numbers.append(threading.get_ident()))
    assert all(a != b for a, b in pairwise(numbers))
    assert not set(numbers[:2]) & set(numbers[2:])
    with pytest.raises(SystemExit):
        call(sys.exit)
