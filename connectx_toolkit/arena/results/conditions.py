"""What games were played under: the machine, the versions of Python and the packages, and how many at a time.

None of these is part of what a match asks for, but each changes how far a search gets in its time, so that games under
different conditions do not measure the same thing.
"""

import json
import os
import platform
from pathlib import Path
from typing import NamedTuple

from connectx_toolkit import foreign
from connectx_toolkit.arena.players.loading import version_of

PACKAGES = ("numpy", "numba", "torch", "kaggle-environments")
ABSENT = "absent"  # what version_of says of a package that is not installed


class Conditions(NamedTuple):
    """Conditions of games. Two that are equal allow their games to be added up."""

    machine: str
    versions: tuple[tuple[str, str], ...]  # (name, version) of python (without the patch level) and PACKAGES
    concurrency: int | None  # games at a time; None on a dask cluster, whose workers come and go

    def to_json(self) -> str:
        return json.dumps(self._asdict() | {"versions": dict(self.versions)})

    @classmethod
    def from_json(cls, text: str) -> "Conditions":
        """What ``to_json`` has written. Raises ValueError or KeyError if it is something else."""
        fields = foreign.mapping(foreign.from_json(text), "the conditions")
        versions = [(name, foreign.text(version, name)) for name, version in fields["versions"].items()]
        games = fields["concurrency"]
        concurrency = None if games is None else foreign.integer(games, "games at a time", 1)
        return cls(foreign.text(fields["machine"], "the machine"), tuple(versions), concurrency)

    def aspects(self) -> dict[str, str]:
        """Each condition in words, such as {"numba": "numba 0.60.0"}."""
        words = {"machine": self.machine} | {name: _package(name, version) for name, version in self.versions}
        return words if self.concurrency is None else words | {"concurrency": _at_a_time(self.concurrency)}

    def differences(self, other: "Conditions") -> list[str]:
        """What is different here, in words: "numba 0.60.0 instead of 0.68.1". Empty if nothing is."""
        words = []
        if self.machine != other.machine:
            words.append(f"another machine ({self.machine})")
        theirs = dict(other.versions)
        for name, version in self.versions:
            if version != theirs.get(name, version):
                instead = "none" if theirs[name] == ABSENT else theirs[name]
                words.append(f"{_package(name, version)} instead of {instead}")
        if None not in (self.concurrency, other.concurrency) and self.concurrency != other.concurrency:
            words.append(f"{_at_a_time(self.concurrency)} instead of {other.concurrency}")
        return words


def conditions_here(concurrency: int = 1, scheduler: str | None = None) -> Conditions:
    """The conditions of games that are played now.

    Args:
        concurrency: games at a time; ignored with a scheduler.
        scheduler: address of the dask cluster that plays them. It stands for the cluster's machines. The versions are
            those of this process.
    """
    python = ".".join(platform.python_version_tuple()[:2])
    versions = (("python", python), *((name, version_of(name)) for name in PACKAGES))
    if scheduler is not None:
        return Conditions(f"dask cluster {scheduler}", versions, None)
    return Conditions(_machine(), versions, concurrency)


def _machine() -> str:
    """Processor and logical cores. The name of the host would not do: every new container has another one."""
    cores = os.cpu_count() or 1
    return f"{_processor()}, {cores} core{'s' * (cores > 1)}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]  # none on ARM
    return next(filter(None, [*models, platform.processor(), platform.machine()]), "unknown processor")


def _package(name: str, version: str) -> str:
    return f"no {name}" if version == ABSENT else f"{name} {version}"


def _at_a_time(games: int | None) -> str:
    return f"{games} game{'s' * (games != 1)} at a time"
