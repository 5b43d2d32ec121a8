"""Matches and labels on a real cluster of several processes, of which one is killed while it works."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.system import workers
from connectx_toolkit.system.cores import usable_cores
from tests.arena.test_store import ROOT, stored_rows
from tests.conftest import LINUX
from tests.conftest import evaluate as main

pytestmark = [pytest.mark.slow, LINUX]  # cores are reserved by Linux's means
PAIRS = 100


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[str]:
    """The address of a scheduler with two workers, each a process that is replaced when it dies."""
    if len(usable_cores()) < 2:
        pytest.skip("needs two cores")
    code = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""
    script = tmp_path_factory.mktemp("cluster") / "cluster.py"
    script.write_text(code)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(script.parent)},  # cores apart from other tests' runs
    )  # fmt: skip
    assert process.stdout is not None and process.stdin is not None
    yield process.stdout.readline().strip()
    process.stdin.close()
    process.wait(30)


def refusal(arguments: list[str], capsys) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["match", "random", *arguments])
    assert stop.value.code == 2
    return capsys.readouterr().err


def command(store: Path, *options: str, pairs: int = PAIRS) -> list[str]:
    return [
        sys.executable, str(ROOT / "evaluate.py"), "match", "random", "random_legal", "--pairs", str(pairs),
        "--seed", "5", "--games", str(store), *options,
    ]  # fmt: skip


def workers_of(address: str) -> list[int]:
    """The process numbers of a cluster's workers; a worker that ends while it is asked is none."""
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        return sorted(number for number in client.run(os.getpid, on_error="return").values() if type(number) is int)


def wait_for(happened: Callable[[], object], run: subprocess.Popen, every: float = 0.05) -> None:
    """Returns when it has happened; looks ``every`` so many seconds; fails if the run ends, or after two minutes."""
    deadline = time.perf_counter() + 120
    while not happened():
        assert run.poll() is None and time.perf_counter() < deadline
        time.sleep(every)


def test_a_worker_is_killed(cluster, tmp_path):
    """The run goes on, with another worker: its games are those of an undisturbed run on one core, each of them once.

    It is a run of more games than it could play before this process, kept waiting by others, comes to kill its worker.
    """
    whole, remote_store = tmp_path / "whole", tmp_path / "remote"
    before = workers_of(cluster)
    run = subprocess.Popen(
        command(remote_store, "--scheduler", cluster, pairs=100_000),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: len(stored_rows(remote_store)) >= 20, run)
        os.kill(before[0], signal.SIGKILL)
        wait_for(lambda: len(set(workers_of(cluster)) - set(before)) == 1, run, every=1.0)
        played = len(stored_rows(remote_store))
        wait_for(lambda: len(stored_rows(remote_store)) >= played + 50, run)
    finally:
        run.kill()
        run.wait()
    done = subprocess.run(command(remote_store, "--scheduler", cluster), capture_output=True, text=True, check=True)
    assert re.search(rf"random v random_legal: {2 * PAIRS} games", done.stdout)
    subprocess.run(command(whole), check=True, capture_output=True)
    numbers = [number for _, number, *_ in stored_rows(remote_store)]
    assert len(stored_rows(whole)) == 2 * PAIRS and numbers[: 2 * PAIRS] == list(range(2 * PAIRS))
    assert stored_rows(remote_store)[: 2 * PAIRS] == stored_rows(whole)


def test_other_agents_than_here_are_refused(cluster, tmp_path, monkeypatch, capsys):
    """The worker compares an agent's content with what the run has."""
    monkeypatch.setattr(AgentSpec, "fingerprint", lambda spec: "0" * 64)
    with pytest.raises(SystemExit) as stop:
        main(["match", "random", "middle", "--games", str(tmp_path / "store"), "--scheduler", cluster])
    err = capsys.readouterr().err
    assert stop.value.code == 1 and "is another on" in err and "same checkout" in err


def test_what_cannot_be_loaded_is_not_played_there_either(cluster, tmp_path, capsys):
    (tmp_path / "broken.py").write_text("def agent(:\n")
    err = refusal([str(tmp_path / "broken.py"), "--games", str(tmp_path / "store"), "--scheduler", cluster], capsys)
    assert "cannot be loaded: SyntaxError" in err


def test_no_scheduler(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(workers, "CONNECT_LIMIT", 0.5)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        err = refusal(["middle", "--games", str(tmp_path / "store"), "--scheduler", address], capsys)
        assert "--scheduler" in err
