"""The state of a run that takes hours, in one file: arrays, facts, and the settings that it must have to be resumed.

A resumed run continues as if it had never stopped: with the same seed it gives the same result.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx.weights import pack, unpack
from connectx_toolkit.console.files import write_whole

DIGEST = re.compile("[0-9a-f]{64}")  # of what a run reads, among its settings


class Checkpoint(NamedTuple):
    """The facts and arrays given to ``save``."""

    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]


def save(path: Path, settings: dict[str, Any], facts: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Writes a checkpoint, whole or not at all. ``settings`` and ``facts`` are any JSON."""
    write_whole(path, pack(arrays, {"settings": settings, "facts": facts}))


def load(path: Path, settings: dict[str, Any]) -> Checkpoint | None:
    """The checkpoint in the file; None if there is no file.

    Raises:
        ValueError: it is damaged, not a checkpoint, or from a run with other settings.
    """
    if not path.exists():
        return None
    try:
        arrays, meta = unpack(path.read_bytes())
    except ValueError as fault:
        raise ValueError(f"{path} is damaged: {fault}") from None
    if not (isinstance(meta, dict) and set(meta) == {"settings", "facts"} and isinstance(meta["settings"], dict)):
        raise ValueError(f"{path} is not the checkpoint of a training run")
    check_same(path.parent, meta["settings"], settings)
    return Checkpoint(meta["facts"], arrays)


def check_same(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raises ValueError if the settings of a run's folder are not those of the run that is to begin."""
    for name in sorted(now.keys() | before.keys()):
        option, old, new = "--" + name.replace("_", "-"), before.get(name), now.get(name)
        if old == new:
            continue
        what = f"with {option} {old!r}, not {new!r}"
        if old is None or new is None:
            what = f"of another version of the toolkit, which differs in {option}"
        elif DIGEST.fullmatch(f"{old}") or DIGEST.fullmatch(f"{new}"):
            what = f"that read other files with {option}"
        raise ValueError(f"{folder} holds a run {what}: choose another --run, or delete it")


@contextmanager
def restoring(path: Path) -> Iterator[None]:
    """For a block that restores state from a checkpoint: turns its exceptions into one ValueError."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, RuntimeError) as fault:
        raise ValueError(f"{path} is damaged: {fault!r:.200}") from None
