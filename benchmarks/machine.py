"""The first line of every benchmark: the machine, and the versions of packages."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("numpy", "numba", "torch", "kaggle-environments")


def processor() -> str:
    """The processor's name, from the system."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def describe() -> str:
    """One line: processor, cores, load, Python and package versions."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"{processor()}, {os.cpu_count()} cores{load}; Python {platform.python_version()}, {packages}"
