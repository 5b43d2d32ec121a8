"""Mutation testing: can the tests fail? Plants faults one at a time, and runs the tests that are about the file.

python -m benchmarks.mutants                               200 faults, drawn over all files: hours
python -m benchmarks.mutants connectx/clock.py --faults 20

cosmic-ray (github.com/sixty-north/cosmic-ray) makes the faults: another operator, number, comparison or branch.
Each is planted in a copy of the checkout. It is seen if a test fails, or needs more processor time than the limit.
``[tool.cosmic-ray]`` of pyproject.toml says which files are mutated, and which tests are about them. Results are kept
in ``runs/`` as they come: the same command goes on where it was, and ``--again`` runs those again that no test saw.
"""

import argparse
import contextlib
import difflib
import importlib
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import use_mutation
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_item import MutationSpec

from benchmarks.machine import head
from connectx_toolkit.system.files import ROOT, write_whole

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cosmic-ray"]
TESTS: dict[str, list[str]] = SETTINGS["tests"]
LIMIT: int = SETTINGS["processor-seconds"]


def is_annotation(node: Any) -> bool:
    """Whether a syntax node is part of a type annotation, where a fault changes nothing that runs."""
    while node.parent is not None:
        if node is getattr(node.parent, "annotation", None) or (
            node.parent.type in ("annassign", "tfpdef")
            and node is node.parent.children[1 + (node.parent.type == "tfpdef")]
        ):
            return True
        node = node.parent
    return False


def places(file: str) -> list[list[MutationSpec]]:
    """The places of a file that can be mutated, in order, each with its mutants."""
    found = defaultdict(list)
    nodes = list(ast_nodes(get_ast_from_path(Path(file))))
    for name in operator_names():
        operator = get_operator(name)
        if name in SETTINGS["excluded-operators"] or operator.arguments():
            continue
        spots = [(node, spot) for node in nodes for spot in operator().mutation_positions(node)]
        for occurrence, (node, (start, end)) in enumerate(spots):
            if not is_annotation(node):
                found[start].append(MutationSpec(file, name, occurrence, start, end))
    return [found[start] for start in sorted(found)]


def draw(files: list[str], faults: int, seed: int) -> list[MutationSpec]:
    """One mutant from each of equal parts of the files' places, so that large files have more, in random order."""
    rng, every = random.Random(seed), [place for file in files for place in places(file)]
    faults = min(faults, len(every))
    drawn = [rng.choice(every[int((part + rng.random()) * len(every) / faults)]) for part in range(faults)]
    rng.shuffle(drawn)
    return drawn


@contextlib.contextmanager
def in_a_copy() -> Iterator[None]:
    """Works in a copy of the files that git knows, so that no fault is ever in the checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, contextlib.chdir(folder):
        for name in filter(None, listed.split("\0")):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, name)
        yield


class QuickestFirst:
    """A plugin of pytest: the tests that took least time before, and new ones, come first."""

    def __init__(self) -> None:
        self.kept = Path("seconds.json")
        self.seconds = json.loads(self.kept.read_text()) if self.kept.exists() else {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self.seconds.get(item.nodeid, 0.0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = report.duration

    def pytest_sessionfinish(self) -> None:
        self.kept.write_text(json.dumps(self.seconds))


def in_a_fork(tests: list[str]) -> None:
    """Runs tests on the files of the current folder. Others' packages, which take seconds, are imported already."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    for name in [name for name in sys.modules if name.split(".")[0] in ("benchmarks", "connectx", "connectx_toolkit")]:
        del sys.modules[name]
    sys.path[:] = [os.getcwd(), *(folder for folder in sys.path if folder not in ("", str(ROOT)))]
    sys.dont_write_bytecode = True  # two faults within a second could have the same stamp
    with (
        open("output", "w", buffering=1) as output,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        os._exit(pytest.main(["-q", "-rfE", "-p", "no:cacheprovider", *tests], plugins=[QuickestFirst()]))


def failing(tests: list[str]) -> list[str]:
    """The tests that fail, or why no test is named."""
    process = multiprocessing.get_context("fork").Process(target=in_a_fork, args=(tests,))
    process.start()
    process.join(10 * LIMIT)
    if process.is_alive():
        os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
    found = re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", Path("output").read_text(), re.MULTILINE)
    return found or [f"exit code {process.exitcode}"] * bool(process.exitcode)


def ask(fault: MutationSpec) -> dict[str, Any]:
    """Runs the tests about a fault's file: the fault as text, and the test that saw it, or None."""
    with use_mutation(fault.module_path, get_operator(fault.operator_name)(), fault.occurrence) as (was, now):
        lines = [line for line in difflib.ndiff(was.splitlines(), now.splitlines()) if line[0] in "+-"]
        by = failing(["-x", *(f"tests/{name}.py" for name in TESTS[str(fault.module_path)])])
    return {"file": f"{fault.module_path}:{fault.start_pos[0]}", "fault": lines, "by": by[0] if by else None}


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="files to mutate (default: all of pyproject.toml)")
    parser.add_argument("--faults", type=int, default=200, help="number of faults (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default 1)")
    parser.add_argument("--again", action="store_true", help="run the faults again that no test saw")
    return parser


def run(drawn: list[MutationSpec], kept: Path, again: bool) -> list[dict[str, Any]]:
    """Asks about each fault that ``kept`` has no answer for; the answers about those drawn."""
    results = json.loads(kept.read_text()) if kept.exists() else {}
    keys = [f"{fault.module_path} {fault.operator_name} {fault.occurrence}" for fault in drawn]
    for key, fault in zip(keys, drawn, strict=True):
        if key not in results or (again and results[key]["by"] is None):
            row = results[key] = ask(fault)
            write_whole(kept, json.dumps(results, indent=1).encode())
            print("seen" if row["by"] else "SURVIVED", row["file"], *row["fault"], sep="\n  ", flush=True)
    return [results[key] for key in keys]


def main() -> None:
    args = parser().parse_args()
    for file in args.files:
        if file not in TESTS:
            sys.exit(f"{file}: not under [tool.cosmic-ray.tests] of pyproject.toml, which names {', '.join(TESTS)}")
    head(seed=args.seed, faults=args.faults)
    for package in SETTINGS["imported-once"]:
        importlib.import_module(package)
    words = ["mutants", str(args.seed), str(args.faults), *(Path(file).stem for file in args.files)]
    kept = ROOT / "runs" / f"{'-'.join(words)}.json"
    with in_a_copy():
        rows = run(draw(args.files or list(TESTS), args.faults, args.seed), kept, args.again)
        named = sorted({row["by"] for row in rows if "::" in (row["by"] or "")})
        broken = failing(named) if named else []
    seen = sum(row["by"] is not None and row["by"] not in broken for row in rows)
    print(f"{seen} of {len(rows)} faults seen; tests that fail without a fault: {', '.join(broken) or 'none'}")


if __name__ == "__main__":
    main()
