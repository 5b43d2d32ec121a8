"""What games were played under: the machine, the versions of Python and the packages, and how many at a time.

None of these is part of what a match asks for, so that all its games count. But each changes how far a search gets in
its time. So the commands say which games were played under other conditions.
"""

import json
import os
import platform
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from connectx_toolkit import foreign
from connectx_toolkit.arena.players.loading import version_of

PACKAGES = ("numpy", "numba", "torch", "kaggle-environments")
ABSENT = "absent"  # what version_of says of a package that is not installed


class Conditions(NamedTuple):
    """Conditions of games."""

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

    def differences(self, other: "Conditions") -> list[str]:
        """What is different here, in words: "numba 0.60.0 instead of 0.68.1". Empty if nothing is."""
        words = []
        if self.machine != other.machine:
            words.append(f"another machine ({self.machine})")
        theirs = dict(other.versions)
        for name, version in self.versions:
            if version != theirs.get(name, version):
                here = f"no {name}" if version == ABSENT else f"{name} {version}"
                words.append(f"{here} instead of {'none' if theirs[name] == ABSENT else theirs[name]}")
        if None not in (self.concurrency, other.concurrency) and self.concurrency != other.concurrency:
            games = f"{self.concurrency} game{'s' * (self.concurrency != 1)}"
            words.append(f"{games} at a time instead of {other.concurrency}")
        return words


def other_conditions_line(played: Counter[Conditions], here: Conditions | None = None) -> list[str]:
    """How many games were played under other conditions than ``here``, and which; [] if none was.

    Args:
        played: how many games were played under which conditions.
        here: by default those of most of these games.
    """
    expected = [here] if here else [conditions for conditions, _ in played.most_common(1)]
    words = {conditions: ", ".join(conditions.differences(*expected)) for conditions in played}
    count = sum(games for conditions, games in played.items() if words[conditions])
    why = "; ".join(dict.fromkeys(filter(None, words.values())))
    return [f"{count} of {played.total()} games were played under other conditions, and count: {why}"] * (count > 0)


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
