"""The rich console for what all commands print."""

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from connectx_toolkit.console.programs import as_typed
from connectx_toolkit.foreign import shown


def _printable(text: str) -> str:
    return "\n".join(shown(line, None) for line in text.split("\n"))


class _Plain(Console):
    """Commands in what is printed are those that the user types; what is too long for a table's cell goes on below."""

    def print(self, *objects: Any, **options: Any) -> None:
        for column in [column for item in objects if isinstance(item, Table) for column in item.columns]:
            column.overflow = "fold"  # cut, the names of two files would read alike
        super().print(*(as_typed(item) if isinstance(item, str) else item for item in objects), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is printed, with escape sequences in texts shown: those of colours are put around it later."""
        for segment in super().render(renderable, options):
            is_plain = segment.control or (segment.text.isascii() and segment.text.replace("\n", "").isprintable())
            yield segment if is_plain else segment._replace(text=_printable(segment.text))


def console_for_tables() -> Console:
    """A console on standard output that prints every text as it is; if that is not a terminal, wide enough for tables.

    Names, titles and the texts of exceptions are other people's: [bold], [/x] and :x: in them are no markup, in lines
    or in tables. Print with this console alone, and escape nothing.
    """
    width = None if sys.stdout.isatty() else 140
    return _Plain(width=width, markup=False, emoji=False, highlight=False)
