"""Cores are reserved by one at a time, and given back however a run ends."""

import os
import subprocess
import sys

import pytest

from connectx_toolkit.arena.match import open_pool
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Setup, Task
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system import cores
from connectx_toolkit.system.cores import check_concurrency, core_of_its_own, cores_apart, reserve_core, usable_cores
from tests.conftest import LINUX

pytestmark = LINUX  # cores are bound by its means


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
        reserved.lock.release()
    again = reserve_core()
    assert again is not None and again.core == before[0]
    again.lock.release()


def test_a_killed_process_gives_its_core_back(tmp_path):
    code = "import os, sys, tempfile\ntempfile.tempdir = sys.argv[1]\nfrom connectx_toolkit.system.cores import *\n"
    code += "print(reserve_core().core, flush=True)\nos.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == -9 and int(done.stdout) == usable_cores()[0]
    reserved = reserve_core()
    assert reserved is not None and reserved.core == usable_cores()[0]
    reserved.lock.release()


def test_a_single_slot_has_one_core_while_it_plays(tmp_path):
    """The agents and the referee; afterwards this process has all of its own again."""

    def note_core(obs, config):
        (tmp_path / "cores").write_text(repr(sorted(os.sched_getaffinity(0))))
        return obs.step % 7

    before = usable_cores()
    with open_pool(Setup(Rules(), "fast")) as slots:
        list(slots.play([Task(0, (resolve(note_core), resolve("leftmost")), (), (1, 2))]))
        assert len(usable_cores()) == 1 and (tmp_path / "cores").read_text() == repr(usable_cores())
    assert usable_cores() == before


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "150000 100000"}, 1),
        ("0::/user/shell\n", {"cpu.max": "max 100000", "user/cpu.max": "300000 100000"}, 3),
        ("0::/docker/1\n", {"cpu.max": "50000 100000"}, 1),  # its own path lies outside the container
        ("3:cpu,cpuacct:/docker/1\n", {"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2),
        ("3:cpu:/\n0::/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 4),
        ("0::/\n", {"cpu.max": "nonsense"}, 4),
        ("", {}, 4),
    ],
)
def test_a_containers_quota_counts(groups, files, expected, tmp_path, monkeypatch):
    """As ``docker --cpus=1`` sets it, by cgroups of either version."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "own").write_text(groups)
    monkeypatch.setattr(cores, "CGROUPS", tmp_path)
    monkeypatch.setattr(cores, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(cores, "all_cores", lambda: [0, 1, 2, 3])
    assert usable_cores() == [0, 1, 2, 3][:expected]
    with pytest.raises(ValueError, match=f"1 to {expected}, the cores"):
        check_concurrency(expected + 1)


def test_the_locks_are_this_users_alone(tmp_path):
    reserved = reserve_core()
    assert reserved is not None and (tmp_path / f"connectx-{os.getuid()}").stat().st_mode & 0o777 == 0o700
    reserved.lock.release()


def test_where_processes_cannot_be_bound_no_core_is_reserved(monkeypatch):
    """As on macOS: neither during the block nor after it."""
    monkeypatch.delattr(os, "sched_setaffinity")
    with core_of_its_own(), cores_apart(1) as bound:
        reserved = reserve_core()
    assert bound == [None] and reserved is not None and reserved.core == usable_cores()[0]
