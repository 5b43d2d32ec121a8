"""Where tables for people go."""

import sys

from rich.console import Console


def console_for_tables() -> Console:
    """Standard output; wide enough for our tables where it is no terminal."""
    return Console(width=None if sys.stdout.isatty() else 140)
