"""The rules of the tree that no other test would notice."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "connectx": set(),
    "agents": {"connectx"},
    "training": {"connectx", "agents"},
    "arena": {"connectx", "agents"},
    "bundler": {"connectx", "agents"},
}
PROJECT = {*ALLOWED, "benchmarks", "tests", "evaluate", "build_submission", "train", "command_line"}
SOURCES = sorted(p for package in ALLOWED for p in (ROOT / package).rglob("*.py"))


def imported_modules(path: Path) -> set[str]:
    """Top-level names of all that a file imports, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path):
    package = path.relative_to(ROOT).parts[0]
    assert imported_modules(path) & PROJECT <= ALLOWED[package] | {package}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_pickle(path):
    assert not imported_modules(path) & {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}


def test_connectx_needs_little():
    """Submissions contain it: the standard library, numpy, numba and torch only."""
    third_party = set.union(*(imported_modules(p) for p in SOURCES if p.parent.name == "connectx"))
    assert third_party - set(sys.stdlib_module_names) <= {"connectx", "numpy", "numba", "torch"}


def run_without_numba(code: str) -> subprocess.CompletedProcess:
    blocked = "import sys; sys.modules['numba'] = None\n"
    command = [sys.executable, "-c", blocked + code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_numba_may_be_missing():
    """The same agent plays, and says on stderr that it is slower."""
    run = run_without_numba(
        "from agents.minimax import agent\n"
        "print(agent({'board': [0] * 42, 'mark': 1, 'remainingOverageTime': 0},"
        " {'rows': 6, 'columns': 7, 'inarow': 4, 'actTimeout': 0.5}))"
    )
    assert run.returncode == 0 and run.stdout.strip() in [str(column) for column in range(7)]
    assert run.stderr.count("\n") == 1 and "numba is not usable" in run.stderr
