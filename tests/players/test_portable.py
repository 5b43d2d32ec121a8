"""Nothing that plays games needs Linux: with its means taken away, everything still runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from connectx_toolkit.system.files import ROOT

AWAY = """
import builtins, ctypes, os, pathlib, sys
for name in ("sched_getaffinity", "sched_setaffinity"):
    if hasattr(os, name):
        delattr(os, name)

class Library(ctypes.CDLL):
    def __getattr__(self, name):
        if name in ("prctl", "unshare", "mount", "omp_pause_resource_all"):
            raise AttributeError(f"dlsym: symbol not found: {name}")
        return super().__getattr__(name)

ctypes.CDLL = Library
opened, listed = builtins.open, os.listdir

def without(function):
    def guarded(path, *arguments, **options):
        packages = "site-packages" in sys._getframe(1).f_code.co_filename  # they have their own ways elsewhere
        if str(path).startswith(("/proc", "/sys")) and not packages:
            raise FileNotFoundError(2, "No such file or directory", path)
        return function(path, *arguments, **options)

    return guarded

import io, _io
builtins.open = io.open = without(opened)
os.listdir = without(listed)
"""
AGENT = "import ctypes, os\n\ndef agent(obs, config):\n    assert not hasattr(os, 'sched_setaffinity')\n"
AGENT += "    return obs.board.index(0)\n"
SCRIPT = """
import sys
from connectx_toolkit.cli.main import run
from evaluate import get_win_percentages

def mine(obs, config):
    return obs.board.index(0)

if __name__ == "__main__":
    for workers in (1, 2):
        rounds = get_win_percentages(mine, "mine.py", 4, workers=min(workers, WORKERS))
        assert rounds.forfeits == (0, 0), rounds.forfeits
    assert run("evaluate", "match packed.tar.gz minimax@1 --pairs 2 --games store".split()) == 0
    assert run("evaluate", "tournament leftmost random mine.py --pairs 1 --games store --ladder ladder".split()) == 0
    assert run("evaluate", "report --games store --html page.html".split()) == 0
    assert run("evaluate", "list".split()) == 0
"""
STOPPED = """
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.players.process import AgentProcess

worker = AgentProcess(resolve("endless.py"), grace=0.1, load_limit=0.4)
assert worker.load().fault == "hang"
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    """With what takes Linux's means away from every Python that starts, agents' processes too."""
    (tmp_path / "sitecustomize.py").write_text(AWAY)
    (tmp_path / "mine.py").write_text(AGENT)
    (tmp_path / "main.py").write_text(AGENT)
    (tmp_path / "endless.py").write_text("while True:\n    pass\n")
    subprocess.run(["tar", "czf", "packed.tar.gz", "main.py"], cwd=tmp_path, check=True)
    return tmp_path


def run(text: str, folder: Path) -> subprocess.CompletedProcess:
    (folder / "script.py").write_text(text)
    environment = {
        "PYTHONPATH": f"{folder}:{ROOT}",
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
    }
    command = [sys.executable, "script.py"]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_games_need_no_linux(folder):
    done = run(SCRIPT.replace("WORKERS", str(os.cpu_count() or 1)), folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Number of Invalid Plays by Agent 2: 0") == 2 and "exception" not in done.stdout
    assert (folder / "page.html").stat().st_size > 10_000 and "packed.tar.gz v minimax@1" in done.stdout


def test_a_load_is_given_up_without_proc(folder):
    done = run(STOPPED, folder)
    assert done.returncode == 0, done.stderr


def test_every_module_can_be_imported(folder):
    """Of what plays, builds and trains, without any of it; and without numba: agents compile as they load."""
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in ("connectx", "connectx_toolkit/arena", "connectx_toolkit/training", "agents")
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "__init__.py"
    ]
    assert len(names) > 60
    plain = "import importlib, sys\nsys.modules['numba'] = None\n"
    done = run(plain + "".join(f"importlib.import_module({name!r})\n" for name in names), folder)
    assert done.returncode == 0, done.stderr
