"""One worker and several: the same results, also where one is killed."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from connectx_toolkit.system.files import ROOT
from connectx_toolkit.system.workers import MOST_DEATHS, local_workers

pytestmark = pytest.mark.slow


def square(number: int) -> int:
    return number * number


def dies_on_the_first_call(note: str, number: int) -> int:
    """Kills its own process unless another one has left the note."""
    if number == 7 and not os.path.exists(note):
        open(note, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def dies(note: str, number: int) -> None:
    with open(note, "a") as file:
        file.write(".")
    os.kill(os.getpid(), signal.SIGKILL)


def nothing() -> None:
    pass


def refuses(number: int) -> int:
    raise ValueError(f"no {number}")


def test_the_same_results_for_any_number():
    expected = {number: square(number) for number in range(300)}
    for count in (1, 2):
        with local_workers(count, nothing) as workers:
            assert dict(workers.map_unordered(square, range(300))) == expected


def test_a_killed_worker_loses_nothing(tmp_path):
    note = tmp_path / "note"
    with local_workers(2, nothing) as workers:
        found = list(workers.map_unordered(partial(dies_on_the_first_call, str(note)), range(100)))
    assert note.exists() and sorted(found) == [(number, square(number)) for number in range(100)]


def test_work_that_kills_every_worker_ends(tmp_path):
    note = tmp_path / "note"
    with local_workers(1, nothing) as workers, pytest.raises(RuntimeError, match="died over the same work"):
        list(workers.map_unordered(partial(dies, str(note)), [1]))
    assert len(note.read_text()) == MOST_DEATHS + 1


def test_what_the_function_raises_is_raised():
    with local_workers(1, nothing) as workers, pytest.raises(ValueError, match="no 1"):
        list(workers.map_unordered(refuses, [1]))


KILLED = """
import os, sys, time
from functools import partial
from connectx_toolkit.system.workers import local_workers

def work(item):
    os.write(1, f"{os.getpid()}\\n".encode())  # print writes a line's end apart, where Python does not buffer
    time.sleep(600)

with local_workers(2, int) as workers:
    list(workers.map_unordered(work, range(2)))
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")
def test_a_run_that_is_killed_leaves_no_worker():
    """Also one that cannot say goodbye."""
    with subprocess.Popen([sys.executable, "-c", KILLED], cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        try:
            pids = [int(run.stdout.readline()) for _ in range(2)]
            assert all(Path(f"/proc/{pid}").exists() for pid in pids)
        finally:
            run.kill()  # or a test that fails would wait for ever
        deadline = time.monotonic() + 5
        while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(is_alive(pid) for pid in pids)


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False
