"""Kaggle's server calls each move in a new thread: what fails there is rejected, and what plays there is accepted."""

import json
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from connectx_toolkit.builder.preflight.check import BY_THREADS, check
from connectx_toolkit.builder.preflight.trial import Runner
from connectx_toolkit.kaggle.replies import NewThreads
from tests.conftest import wait_until

FREE = "    free = [c for c in range(config.columns) if obs.board[c] == 0]\n"
DEF = "\n\ndef agent(obs, config):\n"
NET = "import torch\n\nnet = torch.nn.Linear(42, 7)\n"
BEST = "    return max(free, key=lambda c: float(values[c]))\n"
BOOK = "    book.execute('select 1').fetchone()\n    return free[0]\n"
LOOP = "import asyncio\n\n\nasync def think(free):\n    return free[0]\n"
# An agent, and the word of the cure for those that fail.
AGENTS = {
    "sleeps": (f"import time{DEF}{FREE}    time.sleep(0.001)\n    return free[0]\n", ""),
    "signal in the agent": (
        f"import signal\n\n\ndef ring(*_):\n    raise TimeoutError{DEF}{FREE}    signal.signal(signal.SIGALRM, ring)\n"
        "    return free[0]\n",
        "time.perf_counter()",
    ),
    "signal at load": (f"import signal\n\nsignal.signal(signal.SIGALRM, print){DEF}{FREE}    return free[0]\n", "perf_counter"),
    "local": (
        f"import threading\n\nmemory = threading.local()\nmemory.moves = 0{DEF}{FREE}    memory.moves += 1\n    return free[0]\n",
        "use a global",
    ),
    "local with a default": (
        f"import threading\n\nmemory = threading.local(){DEF}{FREE}    memory.moves = getattr(memory, 'moves', 0) + 1\n    return free[0]\n",
        "",
    ),
    "sqlite3": (f"import sqlite3\n\nbook = sqlite3.connect(':memory:'){DEF}{FREE}{BOOK}", "check_same_thread=False"),
    "sqlite3 from the first move": (
        f"import sqlite3\n\nbook = None{DEF}{FREE}    global book\n    book = book or sqlite3.connect(':memory:')\n{BOOK}",
        "check_same_thread=False",
    ),
    "sqlite3 of any thread": (
        f"import sqlite3\n\nbook = sqlite3.connect(':memory:', check_same_thread=False){DEF}{FREE}{BOOK}",
        "",
    ),
    "the thread's loop": (f"{LOOP}{DEF}{FREE}    return asyncio.get_event_loop().run_until_complete(think(free))\n", "asyncio.run"),
    "a loop for each move": (f"{LOOP}{DEF}{FREE}    return asyncio.run(think(free))\n", ""),
    "grad switched off at load": (
        f"{NET}torch.set_grad_enabled(False){DEF}{FREE}    values = net(torch.tensor(obs.board).float()).numpy()\n{BEST}",
        "torch.no_grad()",
    ),
    "no grad in the agent": (
        f"{NET}{DEF}{FREE}    with torch.no_grad():\n        values = net(torch.tensor(obs.board).float()).numpy()\n{BEST}",
        "",
    ),
    "a pool of threads": (
        f"from concurrent.futures import ThreadPoolExecutor\n\npool = ThreadPoolExecutor(2){DEF}{FREE}"
        "    return list(pool.map(abs, free))[0]\n",
        "",
    ),
}  # fmt: skip


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
        state = {"observation": {"board": board, "mark": 1, "step": step, "remainingOverageTime": 60}}
        state |= {"reward": 0, "status": "ACTIVE", "info": {}, "action": 0}
        asked = {"action": "act", "environment": "connectx", "agents": [str(path)], "configuration": {}, "state": state}
        body, kind = json.dumps(asked).encode(), {"Content-Type": "application/json"}
        with urllib.request.urlopen(
            urllib.request.Request(f"http://127.0.0.1:{port}/", body, kind), timeout=60
        ) as said:
            return str(json.loads(said.read())["action"])

    wait_until(is_up)
    yield lambda path: [reply(path, step) for step in (0, 2, 4, 6)]
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner() as started:
        yield started


@pytest.mark.parametrize("name", AGENTS)
def test_it_is_accepted_if_kaggles_server_plays_it(name, server, runner, tmp_path):
    source, cure = AGENTS[name]
    path = tmp_path / "agent.py"
    path.write_text(source)
    replies = server(path)
    report = check(path, runner)
    assert report.accepted == (not any(reply.startswith("BaseException") for reply in replies)) == (not cure), report
    said = " ".join(finding.text for finding in report.findings)
    assert cure in said and (BY_THREADS in said) == bool(cure)


def test_a_fault_that_is_none_of_threads(runner, tmp_path):
    path = tmp_path / "agent.py"
    path.write_text("def agent(obs, config):\n    return [0][obs.step // 4]\n")
    report = check(path, runner)
    assert not report.accepted and BY_THREADS not in " ".join(finding.text for finding in report.findings)


def test_no_two_moves_share_a_threads_number():
    call, numbers = NewThreads().call, list[int]()
    for _ in range(20):
        call(lambda: numbers.append(threading.get_ident()))
    assert all(a != b for a, b in zip(numbers, numbers[1:], strict=False))
    assert not set(numbers[:2]) & set(numbers[2:])
    with pytest.raises(SystemExit):
        call(sys.exit)
