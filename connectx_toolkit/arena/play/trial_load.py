"""Trial loads before the first game: which agents cannot be loaded, and what to warn about."""

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

SILENCE = 4.0  # seconds until a load is reported


class CannotLoad(ValueError):
    """An agent cannot be loaded."""


class Finding(NamedTuple):
    """The result of a trial load; each text is one line or empty."""

    problem: str = ""  # why the agent cannot be loaded
    warning: str = ""


@contextmanager
def said(text: str, silence: float | None = None) -> Iterator[None]:
    """Prints the text to standard error if the block takes longer than ``silence`` seconds; None: ``SILENCE``."""
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
    """Raises CannotLoad for all agents that cannot be loaded; otherwise prints the warnings to standard error."""
    found = list(findings)
    if problems := [finding.problem for finding in found if finding.problem]:
        raise CannotLoad("; ".join(problems))
    for finding in found:
        if finding.warning:
            print(finding.warning, file=sys.stderr)
