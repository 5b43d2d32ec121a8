"""How commands end: what is caught, in how many lines, with which exit code."""

import re
import sqlite3
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from connectx_toolkit.cli.main import EXIT_CODES, run
from connectx_toolkit.system.console import ProcessFailed
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.system.foreign import NothingLeft
from tests.conftest import LINUX

EMPTY = ["a.json: empty", "b.json: empty"]
ENDS: dict[str, tuple[BaseException, int, str]] = {
    "value": (ValueError("no such\n thing"), 2, "no such thing"),
    "escapes": (ValueError("no \x1b[2Jgame"), 2, "no \\x1b[2Jgame"),
    "file": (FileNotFoundError(2, "", "x.json"), 2, "x.json: no such file or folder"),
    "sqlite": (sqlite3.DatabaseError("damaged"), 2, "damaged"),
    "memory": (MemoryError(), 2, "MemoryError"),
    "package": (ModuleNotFoundError(name="torch.nn"), 2, "this Python has no torch: "),
    "process": (ProcessFailed("4 workers died"), 1, "4 workers died"),
    "pool": (BrokenProcessPool("a child died"), 1, "a child died"),
    "nothing": (NothingLeft(EMPTY), 1, "nothing is left: a.json: empty; b.json: empty"),
    "ctrl-c": (KeyboardInterrupt(), 130, "stopped"),
}
FAULTS = [TypeError("'int' object\nis not iterable"), KeyError("rows"), RuntimeError("strange"), AssertionError()]
FAULTS += [ModuleNotFoundError("no connectx_toolkit.typo", name="connectx_toolkit.typo"), OverflowError("too large")]


def test_the_page_of_exit_codes_has_all_of_them():
    rows = [f"| {code} | {words} |" for code, words in EXIT_CODES.items()]
    assert "\n".join(rows) in (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")


@pytest.fixture
def ends_by(monkeypatch):
    """Lets ``evaluate.py list`` raise something."""

    def prepare(problem: BaseException) -> None:
        def catalogue():
            raise problem

        monkeypatch.setattr("connectx_toolkit.report.catalogue.catalogue", catalogue)

    return prepare


@pytest.mark.parametrize("name", ENDS)
def test_what_is_foreseen(name, ends_by, capsys):
    problem, code, words = ENDS[name]
    ends_by(problem)
    assert run("evaluate", ["list"]) == code and code in EXIT_CODES
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"evaluate.py list: {words}")


@pytest.mark.parametrize("problem", FAULTS, ids=repr)
def test_a_fault_of_ours_is_two_lines_and_a_file(problem, ends_by, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ends_by(problem)
    assert run("evaluate", ["list"]) == 70
    what, whose = capsys.readouterr().err.splitlines()
    assert what.startswith(f"evaluate.py list: {type(problem).__name__}: ")
    found = re.fullmatch(r"evaluate.py list: this is the toolkit's fault, not yours: please report .* with (.*)", whose)
    assert found is not None
    text = Path(found[1]).read_text()
    assert "Traceback" in text and f"in catalogue\n    raise problem\n{type(problem).__name__}" in text


LABELS = """
import contextlib, os, signal, sys, threading, time
from pathlib import Path

def kill():
    while True:
        with contextlib.suppress(OSError):  # a thread or a child that has just ended
            for task in Path("/proc/self/task").iterdir():
                for child in (task / "children").read_text().split():
                    if b"resource_tracker" not in Path("/proc", child, "cmdline").read_bytes():
                        os.kill(int(child), signal.SIGKILL)
        time.sleep(0.01)

if __name__ == "__main__":
    threading.Thread(target=kill, daemon=True).start()
    from connectx_toolkit.cli.main import run
    sys.exit(run("train", ["labels", "--games", "20000", "--workers", "1", "--run", sys.argv[1]]))
"""


@LINUX
def test_workers_that_die_again_and_again(tmp_path):
    """As the system kills them where there is too little memory."""
    (tmp_path / "script.py").write_text(LABELS)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py", tmp_path / "run"],
        cwd=ROOT, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert last == "train.py: 4 workers in turn died over the same work (out of memory?)"
