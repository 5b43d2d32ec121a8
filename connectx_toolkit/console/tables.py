"""The rich console for what all commands print."""

import sys
from typing import Any

from rich.console import Console

from connectx_toolkit.console.programs import as_typed


class _Plain(Console):
    """Commands in what is printed are those that the user types."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(as_typed(item) if isinstance(item, str) else item for item in objects), **options)


def console_for_tables() -> Console:
    """A console on standard output that prints every text as it is; if that is not a terminal, wide enough for tables.

    Names, titles and the texts of exceptions are other people's: [bold], [/x] and :x: in them are no markup, in lines
    or in tables. Print with this console alone, and escape nothing.
    """
    width = None if sys.stdout.isatty() else 140
    return _Plain(width=width, markup=False, emoji=False, highlight=False)
