"""The cost of a submission's wrapping, and a fuzz test: 20,000 random observations with a tiny clock.

python -m benchmarks.bundle                     overhead and fuzzing of minimax
python -m benchmarks.bundle --older 1.18.0      builds every agent; checks it with this kaggle-environments and that one
"""

import argparse
import contextlib
import io
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from connectx.geometry import Geometry, geometry_of
from connectx_toolkit.builder.building.build import NotAccepted, Options, build, render
from connectx_toolkit.builder.preflight.check import GUARD_MARK, check
from connectx_toolkit.builder.preflight.questions import Question, question, random_moves
from connectx_toolkit.builder.preflight.stage import Runner
from connectx_toolkit.builder.source.inline import inline
from connectx_toolkit.catalogue import our_agents
from connectx_toolkit.places import ROOT

TINY = (0.05, 0.2)  # actTimeout and bank of the fuzzing: an agent thinks for 25 ms, and is late after 250 ms
SHAPES = (
    *((6, 7, 4), (4, 5, 3), (5, 4, 3), (8, 9, 5), (9, 8, 5), (6, 6, 4)),
    *((7, 8, 4), (2, 2, 2), (1, 7, 4), (7, 1, 4), (12, 12, 5), (5, 9, 4)),
)

# Processor time of a load, with the file's compilation, in a fresh process that has the modules of Kaggle's server.
TIME_LOAD = """
import sys, time
import kaggle_environments
text = open(sys.argv[1], encoding="utf-8").read()
if "numba" in sys.argv: import numba; numba.njit(lambda x: x + 1)(1)
started = time.process_time()
exec(compile(text, sys.argv[1], "exec"), {})
print(time.process_time() - started)
"""


def load_seconds(file: Path, runs: int, *options: str) -> float:
    """The median processor time to load a file, each time in a fresh process."""
    command = [sys.executable, "-IB", "-c", TIME_LOAD, str(file), *options]
    seconds = [float(subprocess.run(command, capture_output=True, check=True).stdout.split()[-1]) for _ in range(runs)]
    return sorted(seconds)[runs // 2]


def overhead(folder: Path, runs: int) -> None:
    """Compares the load of built files without weights with that of the same code as ordinary Python files."""
    agent = "def agent(obs, config):\n    return [c for c in range(config.columns) if obs.board[c] == 0][0]\n"
    (folder / "bare.py").write_text(agent)
    (folder / "built_bare.py").write_text(render(inline(folder / "bare.py"), None)[0])
    bare, built = (load_seconds(folder / name, runs) * 1e3 for name in ("bare.py", "built_bare.py"))
    print(f"one function:      {bare:7.1f} ms bare,     {built:7.1f} ms built, {built - bare:6.1f} ms more")
    source = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom agents.n_step import agent\n"
    (folder / "imported.py").write_text(source)
    (folder / "built_n_step.py").write_text(render(inline(ROOT / "agents" / "n_step.py"), None)[0])
    names = ("imported.py", "built_n_step.py")
    bare, built = (load_seconds(folder / name, runs, "numba") * 1e3 for name in names)
    print(f"n_step, 8 modules: {bare:7.1f} ms imported, {built:7.1f} ms built, {built - bare:6.1f} ms more")


def random_question(randomness: random.Random, geometry: Geometry) -> Question:
    moves = random_moves(randomness, geometry, randomness.randrange(geometry.cells))
    return question("", moves, geometry, TINY)


def fuzz(folder: Path, agent: str, count: int, seed: int) -> int:
    """Asks a built agent random legal observations; returns how many replies were faulty."""
    text = render(inline(ROOT / "agents" / f"{agent}.py"), None)[0]
    space: dict[str, Any] = {}
    exec(compile(text, "submission.py", "exec"), space)
    reply, randomness, found = space["agent"], random.Random(seed), Counter[str]()
    geometries = [geometry_of(*shape) for shape in SHAPES]
    for geometry in geometries:  # the kernel for each kind of board compiles at its first move, which gets a full bank
        first = question("", [], geometry, (2.0, 60.0))
        reply(first.obs, first.config | {"nodeBudget": 50})
    slowest, err = 0.0, io.StringIO()
    for number in range(count):
        asked = random_question(randomness, geometries[number % len(geometries)])
        with contextlib.redirect_stderr(err):
            started = time.perf_counter()
            column = reply(asked.obs, asked.config)
            seconds = time.perf_counter() - started
        slowest = max(slowest, seconds)
        found["late"] += seconds > sum(TINY)
        found["not a legal int"] += type(column) is not int or column not in asked.legal
    found["guarded"] = err.getvalue().count(GUARD_MARK)
    faults = ", ".join(f"{found[name]} {name}" for name in ("not a legal int", "late", "guarded"))
    print(f"{agent}: {count:,} observations on {len(SHAPES)} boards, {TINY[0] * 1e3:.0f} ms a move: {faults}; ", end="")
    print(f"slowest {slowest * 1e3:.1f} ms")
    for line in sorted(set(err.getvalue().splitlines()))[:5]:
        print(f"  {line}")
    return found["not a legal int"] + found["late"]


def build_all(folder: Path, older: str) -> int:
    """Builds all our agents, then checks them with another version; returns how many were refused."""
    target = folder / "older"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target)]
    subprocess.run([*pip, f"kaggle-environments=={older}"], check=True)
    refused = 0
    for path in (ROOT / "agents" / f"{name}.py" for name in our_agents()):
        output = folder / path.name
        started = time.perf_counter()
        try:
            with Runner() as runner:
                report = build(inline(path), output, Options(), runner)
        except NotAccepted as fault:
            print(f"{path.stem:12} refused: {fault}")
            refused += 1
            continue
        seconds = time.perf_counter() - started
        with Runner(target) as runner:
            other = check(output, runner)
        figures, verdict = report.figures, "accepted" if other.accepted else f"refused: {other.reasons}"
        refused += not other.accepted
        print(
            f"{path.stem:12} built and accepted in {seconds:5.1f} s on {figures['kaggle_environments']}, "
            f"{figures['compared_positions']} positions, {figures['different_moves']} differ, "
            f"load {figures['load_seconds']:.1f} s; on {other.figures['kaggle_environments']}: {verdict}"
        )
    return refused


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", default="minimax", help="the agent to fuzz (default %(default)s)")
    parser.add_argument("--count", type=int, default=20_000, help="observations (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=9, help="fresh processes for each load time (default %(default)s)")
    parser.add_argument("--older", metavar="VERSION", help="instead: build all agents, check them with this version")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.older:
            return min(1, build_all(Path(folder), given.older))
        overhead(Path(folder), given.runs)
        return min(1, fuzz(Path(folder), given.agent, given.count, given.seed))


if __name__ == "__main__":
    sys.exit(main())
