"""The Config of a training method: a dataclass whose fields have their help and limits.

Also here: what a result is made from (digests of files, and the commit of the code).
"""

import argparse
import hashlib
import operator
import re
import shlex
import subprocess
import time
from dataclasses import Field, field, fields
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

from connectx_toolkit.system.cores import processor_and_cores
from connectx_toolkit.system.files import ROOT

DIGEST_FORM = re.compile("[0-9a-f]{64}")  # of what a run reads, among its settings


def digest_of(path: Path) -> str:
    """The sha256 of a file; "" if there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def source() -> dict[str, Any]:
    """The commit of the code, and whether files that git knows were changed since; empty outside a git checkout."""
    top, commit = (_git("rev-parse", "--show-toplevel", "HEAD").splitlines() or ["", ""])[:2]
    if not top or Path(top).resolve() != ROOT:
        return {}
    return {"commit": commit, "dirty": bool(_git("status", "--porcelain", "--untracked-files=no"))}


def _git(*words: str) -> str:
    """What git prints; nothing where it fails or is not installed."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


LIMITS = {  # keyword of ``option``: (comparison that a value must satisfy, its name in messages)
    "least": (operator.ge, "at least"),
    "above": (operator.gt, "above"),
    "most": (operator.le, "at most"),
    "below": (operator.lt, "below"),
}


def option(
    default: Any,
    help_text: str,
    *,
    among: tuple[str, ...] = (),
    short: str = "",
    comes_first: bool = False,
    reads: bool = False,
    in_run: str = "",
    is_free: bool = False,
    **limits: float,
) -> Any:
    """A field of a Config, with its help and the values that it allows.

    Args:
        among: the allowed values; all by default.
        short: another name of the option, "-o".
        comes_first: it has no name on the command line, but its place, and cannot be left out.
        reads: the value is a file to read; "" is none.
        in_run: the name that a file to write has in the run's folder if the option is not given.
        is_free: the result does not depend on it, so that a run can be resumed with another value.
        limits: bounds of the value: ``least``, ``above``, ``most``, ``below``.
    """
    if unknown := limits.keys() - LIMITS.keys():
        raise TypeError(f"limits of an option are {', '.join(LIMITS)}, not {', '.join(unknown)}")
    words = {"help": help_text, "among": among, "limits": limits, "short": short, "comes_first": comes_first}
    return field(default=default, metadata=words | {"reads": reads, "in_run": in_run, "is_free": is_free})


class Options:
    """The base of every Config. Raises ValueError if a field's value is not allowed by its option."""

    METHOD: ClassVar[str]  # its name on the command line
    RESUMES: ClassVar[bool] = False  # whether a run that was stopped goes on where it was

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        for item in fields(self):  # type: ignore[arg-type] # every Config is a dataclass
            _check_value(item, getattr(self, item.name))
            if item.metadata["in_run"] and getattr(self, item.name) == Path():
                setattr(self, item.name, getattr(self, "run") / item.metadata["in_run"])  # noqa: B009 - mypy knows no run

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the result depends on: every option, and for what is read its digest, when first asked for.

        Where files are written and what is free are left out. A run is resumed only with the same settings.
        """
        return self._values() | {name: digest_of(path) for name, path in self.files_read().items()}

    def _values(self) -> dict[str, Any]:
        """The value of each option that the result depends on and that names no file."""
        return {
            item.name: getattr(self, item.name)
            for item in fields(self)  # type: ignore[arg-type]
            if not (item.metadata["reads"] or item.metadata["is_free"] or item.type is Path)
        }

    def files_read(self) -> dict[str, Path]:
        """The files that the run reads, by the names of their options; ``Path()`` is none.

        A Config whose run reads files besides, or not all of these, says so. A file without an option goes by its own
        name.
        """
        return {
            item.name: Path(getattr(self, item.name))
            for item in fields(self)  # type: ignore[arg-type]
            if item.metadata["reads"]
        }

    @cached_property
    def origin(self) -> dict[str, Any]:
        """How to make the result again: the command, the value of every option, the commit of the code, digests of what
        is read, the machine.
        """
        inputs = {name: self.settings[name] for name in self.files_read() if self.settings[name]}
        made = {"options": self._values(), "inputs": inputs, "machine": processor_and_cores()}
        return {"command": command_line_of(self), **source(), **made}


def _check_value(item: Field, value: Any) -> None:
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{item.name} should be a finite number, not {value}")
    for name, bound in item.metadata["limits"].items():
        holds, words = LIMITS[name]
        if not holds(value, bound):
            raise ValueError(f"{item.name} should be {words} {bound}, not {value}")
    among = item.metadata["among"]
    if among and value not in among:
        raise ValueError(f"{item.name} should be one of {', '.join(filter(None, among))}, not {value!r}")


def flag(name: str) -> str:
    """The option of a field: "--table-bits" of "table_bits"."""
    return "--" + name.replace("_", "-")


def config_from(config_class: type, given: argparse.Namespace) -> Any:
    """The Config with the given options. Raises ValueError if it refuses one."""
    return config_class(**{item.name: getattr(given, item.name) for item in fields(config_class)})


def command_line_of(config: Options) -> str:
    """The command line that makes the same result again: all options that differ from their defaults."""
    words = ["python", "train.py", config.METHOD]
    for item in fields(config):  # type: ignore[arg-type]
        value, in_run = getattr(config, item.name), item.metadata["in_run"]
        if value in (item.default, in_run and getattr(config, "run") / in_run):  # noqa: B009 - mypy knows no run
            continue
        text = value.as_posix() if isinstance(value, Path) else str(value)
        named = [] if item.metadata["comes_first"] else [flag(item.name)]
        words += named if item.type is bool else [*named, text]
    return shlex.join(words)


def check_same(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raises ValueError if the settings of a run's folder are not those of the run that is to begin."""
    for name in sorted(now.keys() | before.keys()):
        option, old, new = "--" + name.replace("_", "-"), before.get(name), now.get(name)
        if old == new:
            continue
        what = f"with {option} {old!r}, not {new!r}"
        if old is None or new is None:
            what = f"of another version of the toolkit, which differs in {option}"
        elif DIGEST_FORM.fullmatch(f"{old}") or DIGEST_FORM.fullmatch(f"{new}"):
            what = f"that read another {name}" if "." in name else f"that read another file with {option}"
        raise ValueError(f"{folder} holds a run {what}: choose another --run, or delete it")


DEVICES = ("auto", "cpu", "cuda", "mps")


def device_option(default: str) -> Any:
    """The option ``--device`` of a Config."""
    return option(
        default, "torch device of the networks; games are always played on the processor", among=DEVICES, is_free=True
    )
