"""The rich console for tables."""

import sys

from rich.console import Console


def console_for_tables() -> Console:
    """A console on standard output; if that is not a terminal, wide enough for our tables."""
    return Console(width=None if sys.stdout.isatty() else 140)
