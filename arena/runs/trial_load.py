"""Agents loaded for trial, before any game: who cannot be loaded, and what there is to be warned of."""

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

SILENCE = 4.0  # seconds until a load is spoken of


class CannotLoad(ValueError):
    """An agent's code does not even load."""


class Finding(NamedTuple):
    """What a load for trial showed, each in one line, or empty."""

    problem: str = ""  # why the agent cannot be loaded
    warning: str = ""


@contextmanager
def said(text: str, silence: float | None = None) -> Iterator[None]:
    """Prints the text to standard error if the block takes more seconds than ``silence``; None: than ``SILENCE``."""
    timer = threading.Timer(
        SILENCE if silence is None else silence, print, (text,), {"file": sys.stderr, "flush": True}
    )
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def raise_or_warn(findings: Iterable[Finding]) -> None:
    """Raises CannotLoad for all that cannot be loaded; else prints the warnings to standard error."""
    found = list(findings)
    if problems := [finding.problem for finding in found if finding.problem]:
        raise CannotLoad("; ".join(problems))
    for finding in found:
        if finding.warning:
            print(finding.warning, file=sys.stderr)
