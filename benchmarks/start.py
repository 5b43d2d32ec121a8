"""What a built file's start costs with its machine code and without it, and whether that code is as good as numba's.

    python -m benchmarks.start FILE [FILE ...]     loads of built files, in fresh processes
    python -m benchmarks.start --kernels           the same nodes and results? as many nodes a second?

A load is the processor time of a whole process, with that of the process that tries the code, less that of one which
only imports numpy: medians, in turn. The kernels solve and search the same random positions in turn, slice by slice:
by the code that a submission holds, by what this computer keeps, and as numba compiles them here.
"""

import argparse
import base64
import contextlib
import json
import random
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

from benchmarks.machine import head, record
from connectx import jit, machine_code
from connectx.clock import Budget
from connectx.position import STANDARD, Position
from connectx.search import Searcher
from connectx.solver import Solver
from connectx_toolkit.builder.build import MACHINE_CODE
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.system.machine_code import for_submission

LOAD = """
import os, sys
if sys.argv[2] == "without numba":
    sys.modules["numba"] = None
import numpy
if sys.argv[1]:
    exec(compile(open(sys.argv[1], encoding="utf-8").read(), sys.argv[1], "exec"), {})
os.write(2, str(sum(os.times()[:4])).encode())
os._exit(0)
"""
MAKE = """
import base64, json, sys
from benchmarks.start import made
print(json.dumps({name: base64.b64encode(part).decode() for name, part in made().items()}))
"""
WAYS = ("machine code", "machine code, without numba", "numba compiles")
KINDS = ("in a submission", "kept", "numba")
STEP = 50  # positions in a slice
SEARCHED = 20_000  # nodes of a search
PLIES = (10, 18)  # of the positions


def load_seconds(file: str, way: str) -> float:
    """Processor seconds of a process that imports numpy, and loads a file if there is one."""
    call = [sys.executable, "-IB", "-c", LOAD, file, way.partition(", ")[2]]
    run = subprocess.run(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    if file and way != WAYS[2] and "not usable" in run.stderr:
        raise SystemExit(f"{file}: {run.stderr}")
    return float(run.stderr.split()[-1])


def unpacked(file: Path, folder: Path) -> dict[str, str]:
    """A built file and the same without its machine code, by the way to start it."""
    if file.name.endswith(".tar.gz"):
        with tarfile.open(file) as tar:
            tar.extractall(folder, filter="data")
        file = folder / "main.py"
    text = file.read_text(encoding="utf-8")
    whole, without = folder / "main.py", folder / "without.py"
    whole.write_text(text, encoding="utf-8")
    without.write_text(text.replace(f"DATA[{MACHINE_CODE!r}]", "DATA[None]"), encoding="utf-8")
    return dict(zip(WAYS, map(str, (whole, whole, without)), strict=True))


def measure_loads(files: list[Path], count: int) -> None:
    """Prints, and keeps, what each file's load takes more than to import numpy."""
    rows = {}
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            ways = {"numpy": ""} | unpacked(file, Path(folder))
            runs = [{way: load_seconds(path, way) for way, path in ways.items()} for _ in range(count + 1)][1:]
        seconds = {way: median(run[way] for run in runs) for way in ways}
        name = file.name.partition(".")[0]
        rows[name] = {way: round(seconds[way] - seconds["numpy"], 2) for way in WAYS} | {"bytes": file.stat().st_size}
        print(f"{name:<14}" + "".join(f"{way}: {rows[name][way]:.2f} s   " for way in WAYS), flush=True)
    most = max(row[WAYS[0]] for row in rows.values())
    before = max(row[WAYS[2]] for row in rows.values())
    record("start", most, "s of a processor more than importing numpy, at most", before, loads=rows)


def made() -> dict[str, bytes]:
    """The machine code that a submission with all three kernels would hold; numba must not be loaded yet."""

    def load() -> Callable:
        from agents.minimax import network  # which loads a search

        Solver(STANDARD), Searcher(STANDARD), Searcher(STANDARD, net=network)
        return lambda obs, config: 0

    return for_submission(load)


def submitted() -> dict[str, bytes]:
    """The same, made in a process of its own."""
    call = [sys.executable, "-c", MAKE]
    text = subprocess.run(call, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {name: base64.b64decode(part) for name, part in json.loads(text).items()}


@contextlib.contextmanager
def kernels_of(kind: str, parts: dict[str, bytes]) -> Iterator[None]:
    """Solvers and searchers that are made in the block have kernels of one of ``KINDS``."""
    patched: dict[str, Any] = {"_codes": {}, "embedded": lambda: parts if kind == KINDS[0] else {}}
    kept = jit.kept if kind == KINDS[1] else None
    with mock.patch.multiple(machine_code, **patched), mock.patch.object(jit, "kept", kept):
        yield


def positions(count: int, seed: int) -> list[Position]:
    """Random positions in which nobody has won, nor wins at once."""
    chance, found = random.Random(seed), list[Position]()
    while len(found) < count:
        position = Position.empty(STANDARD)
        for _ in range(chance.randint(*PLIES)):
            safe = [c for c in position.legal_columns() if c not in position.winning_columns()]
            position = position.play(chance.choice(safe)) if safe else position
        found += [] if position.winning_columns() else [position]
    return found


def solving() -> Callable[[list[Position]], tuple[Any, int]]:
    solver = Solver(STANDARD)

    def run(part: list[Position]) -> tuple[Any, int]:
        before = solver.nodes
        return solver.solve_many(part), solver.nodes - before

    return run


def searching(net: Any = None) -> Callable[[list[Position]], tuple[Any, int]]:
    searcher = Searcher(STANDARD, net=net)

    def run(part: list[Position]) -> tuple[Any, int]:
        results = []
        for position in part:
            searcher.forget()
            results.append(searcher.search(position, Budget(nodes=SEARCHED)))
        return [(result.column, result.score, result.depth) for result in results], sum(r.nodes for r in results)

    return run


def measure_kernels(count: int, seed: int) -> None:
    """Prints, and keeps, whether nodes and results are the same, and nodes a second beside numba's."""
    from agents.minimax import network

    parts, asked, rows = submitted(), positions(count, seed), {}
    players = {"solver": solving, "search": searching, "search with network": lambda: searching(network)}
    for name, player in players.items():
        runs = {}
        for kind in KINDS:
            with kernels_of(kind, parts):
                runs[kind] = player()
                runs[kind](asked[:1])  # ready
        rows[name] = row_of(runs, asked)
        print(f"{name:<22}{json.dumps(rows[name])}", flush=True)
    least = min(row["rates"][KINDS[0]] for row in rows.values())
    record("kernels", least, "of numba's nodes a second, at least", 1, kernels=rows)


def row_of(runs: dict[str, Callable[[list[Position]], tuple[Any, int]]], asked: list[Position]) -> dict[str, Any]:
    """Nodes, on how many positions all agree, and nodes a second relative to numba's: the median over the slices."""
    nodes, same, ratios = 0, 0, {kind: list[float]() for kind in KINDS}
    for start in range(0, len(asked), STEP):
        part, seconds, found = asked[start : start + STEP], dict[str, float](), []
        shift = start // STEP % len(KINDS)
        for kind in (*KINDS[shift:], *KINDS[:shift]):
            started = time.thread_time()
            found.append(runs[kind](part))
            seconds[kind] = time.thread_time() - started
        same += len(part) if all(each == found[0] for each in found) else 0
        nodes += found[0][1]
        for kind in KINDS:
            ratios[kind].append(seconds[KINDS[-1]] / seconds[kind])
    rates = {kind: round(median(values), 3) for kind, values in ratios.items()}
    return {"positions": len(asked), "the same": same, "nodes": nodes, "rates": rates}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a built submission")
    parser.add_argument("--loads", type=int, default=9, help="loads of each file in each way (default 9)")
    parser.add_argument("--kernels", action="store_true", help="compare kernels")
    parser.add_argument("--count", type=int, default=1000, help="positions for the kernels (default 1000)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not options.files and not options.kernels:
        parser.error("name built files, or --kernels")
    head(seed=options.seed)
    if options.files:
        measure_loads(options.files, options.loads)
    if options.kernels:
        measure_kernels(options.count, options.seed)


if __name__ == "__main__":
    main()
