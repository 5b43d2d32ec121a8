"""Cores are reserved by one at a time, and given back however a run ends."""

import os
import subprocess
import sys

import pytest

from arena import cores
from arena.cores import check_concurrency, core_of_its_own, reserve_core, usable_cores
from arena.players.loading import resolve
from arena.rules import Rules
from arena.slots import Setup, Task, open_slots

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores are bound by Linux's means")


@pytest.fixture(autouse=True)
def own_locks(tmp_path, monkeypatch):
    """Other tests, and other runs on this machine, reserve cores too."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_every_core_is_reserved_once():
    taken = [reserve_core() for _ in usable_cores()]
    assert [reserved.core for reserved in taken if reserved] == usable_cores() and reserve_core() is None
    before = usable_cores()
    with core_of_its_own():
        assert usable_cores() == before  # none was left
    for reserved in taken:
        assert reserved is not None
        os.close(reserved.lock)
    again = reserve_core()
    assert again is not None and again.core == before[0]
    os.close(again.lock)


def test_a_killed_process_gives_its_core_back(tmp_path):
    code = "import os, sys, tempfile\ntempfile.tempdir = sys.argv[1]\nfrom arena.cores import *\n"
    code += "print(reserve_core().core, flush=True)\nos.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == -9 and int(done.stdout) == usable_cores()[0]
    reserved = reserve_core()
    assert reserved is not None and reserved.core == usable_cores()[0]
    os.close(reserved.lock)


def test_a_single_slot_has_one_core_while_it_plays(tmp_path):
    """The agents and the referee; afterwards this process has all of its own again."""

    def note_core(obs, config):
        (tmp_path / "cores").write_text(repr(sorted(os.sched_getaffinity(0))))
        return obs.step % 7

    before = usable_cores()
    with open_slots(Setup(Rules(), "fast")) as slots:
        list(slots.play([Task(0, (resolve(note_core), resolve("leftmost")), (), (1, 2))]))
        assert len(usable_cores()) == 1 and (tmp_path / "cores").read_text() == repr(usable_cores())
    assert usable_cores() == before


def test_more_at_a_time_than_cores(monkeypatch):
    monkeypatch.setattr(cores, "usable_cores", lambda: [0, 1])
    check_concurrency(2)
    for concurrency in (0, 3):
        with pytest.raises(ValueError, match="1 to 2"):
            check_concurrency(concurrency)
