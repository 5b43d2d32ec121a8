"""The rich console for what all commands print."""

import sys

from rich.console import Console


def console_for_tables() -> Console:
    """A console on standard output that prints every text as it is; if that is not a terminal, wide enough for tables.

    Names, titles and the texts of exceptions are other people's: [bold], [/x] and :x: in them are no markup, in lines
    or in tables. Print with this console alone, and escape nothing.
    """
    width = None if sys.stdout.isatty() else 140
    return Console(width=width, markup=False, emoji=False, highlight=False)
