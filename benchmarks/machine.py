"""Records each benchmark's figure: the machine, the method, and the best published figure to compare with."""

import json
import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from connectx_toolkit.arena.store import PACKAGES
from connectx_toolkit.system.cores import processor_and_cores
from connectx_toolkit.system.files import ROOT, version_of, write_whole

RESULTS = ROOT / "runs" / "results"


@lru_cache(maxsize=1)
def machine() -> str:
    """Processor, cores, and how busy they are when a run begins."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{processor_and_cores()}{load}"


def versions() -> dict[str, str]:
    """Of Python and of the packages that a figure may depend on."""
    return {"Python": platform.python_version()} | {name: version_of(name) for name in PACKAGES}


def head(**settings: object) -> None:
    """Prints a benchmark's first line: machine, versions and the settings, such as the seed."""
    parts = [f"{name} {number}" for name, number in versions().items()]
    print(f"{machine()}; {', '.join(parts)}; {', '.join(f'{name} {value}' for name, value in settings.items())}")


def commit() -> str | None:
    """The commit of the source, with "-dirty" if files differ from it; None without git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def record(name: str, figure: Any, unit: str, anchor: Any = None, **details: Any) -> None:
    """Prints a figure beside the best published one, and writes ``runs/results/NAME.json``.

    Args:
        anchor: the published figure, or several by name; None if there is none.
        details: further numbers of the same run.
    """
    command = shlex.join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *sys.argv[1:]])
    entry = {
        "figure": figure,
        "unit": unit,
        "anchor": anchor,
        "command": command,
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    path = RESULTS / f"{name}.json"
    write_whole(path, (json.dumps(entry | details, indent=2, ensure_ascii=False) + "\n").encode())
    print(f"{name}: {figure} {unit}; anchor: {anchor} ({os.path.relpath(path)})")
