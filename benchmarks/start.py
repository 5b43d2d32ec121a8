"""Measures what it takes to load a built file: with its machine code, with it but no numba, and without it.

python -m benchmarks.start FILE [FILE ...]

A load is the processor time of a whole process, with that of the process that tries the code, less that of one which
only imports numpy: medians, in turn.
"""

import argparse
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.machine import head, record
from connectx_toolkit.builder.build import MACHINE_CODE

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
WAYS = ("machine code", "machine code, without numba", "numba compiles")


def load_seconds(file: str, way: str) -> float:
    """Processor seconds of a process that imports numpy, and loads a file if there is one."""
    call = [sys.executable, "-IB", "-c", LOAD, file, way.partition(", ")[2]]
    run = subprocess.run(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    if file and way != WAYS[2] and "not usable" in run.stderr:
        raise SystemExit(f"{file}: {run.stderr}")
    return float(run.stderr.split()[-1])


def unpack_file(file: Path, folder: Path) -> dict[str, str]:
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
            ways = {"numpy": ""} | unpack_file(file, Path(folder))
            runs = [{way: load_seconds(path, way) for way, path in ways.items()} for _ in range(count + 1)][1:]
        seconds = {way: median(run[way] for run in runs) for way in ways}
        name = file.name.partition(".")[0]
        rows[name] = {way: round(seconds[way] - seconds["numpy"], 2) for way in WAYS} | {"bytes": file.stat().st_size}
        print(f"{name:<14}" + "".join(f"{way}: {rows[name][way]:.2f} s   " for way in WAYS), flush=True)
    most = max(row[WAYS[0]] for row in rows.values())
    before = max(row[WAYS[2]] for row in rows.values())
    record("start", most, "s of a processor more than importing numpy, at most", before, loads=rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a built submission")
    parser.add_argument("--loads", type=int, default=9, help="loads of each file in each way (default 9)")
    options = parser.parse_args()
    head(loads=options.loads)
    measure_loads(options.files, options.loads)


if __name__ == "__main__":
    main()
