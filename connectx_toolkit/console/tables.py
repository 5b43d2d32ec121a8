"""One table, its columns declared once, for the terminal, for pages and for Markdown; the console that prints it."""

import html
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Literal

import rich.table
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from connectx_toolkit.console.programs import as_typed
from connectx_toolkit.foreign import shown

STYLES = {  # of rows on a terminal, by what they are about
    "won": "green", "lost": "red", "given away": "bold red",
    "note": "yellow", "warning": "bold yellow", "unknown": "bold magenta", "reject": "bold red",
}  # fmt: skip


def plain(value: Any) -> str:
    """A value as a cell shows it, unless its column says otherwise."""
    return f"{value:.1f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Column:
    """A column, declared once for all renderers."""

    head: str
    value: Callable[[Any], Any] | None = None  # of a row; None: its cell at the column's place
    show: Callable[[Any], str] = plain  # a value as text; the value None is an empty cell
    help: str = ""  # below the table, and on a page at the head as well
    align: Literal["left", "right"] | None = None  # None: numbers to the right
    classes: str = ""  # of its cells on a page
    shade: Callable[[Any], float] | None = None  # a value's colour, from 0 (red) to 1 (green)

    def text(self, row: Any) -> str:
        """A row's cell."""
        value = self.value(row) if self.value else None
        return "" if value is None else self.show(value)

    def strength(self, row: Any) -> float | None:
        """The colour of a row's cell, from 0 to 1; None if it has none."""
        value = self.value(row) if self.value and self.shade else None
        return None if value is None or self.shade is None else self.shade(value)


class Table:
    """Rows under declared columns. A console prints it as it is; ``html`` and ``markdown`` write it."""

    def __init__(
        self,
        title: str,
        columns: Iterable[Column | str],
        rows: Iterable[Any],
        note: str = "",
        kind: Callable[[Any], str] = lambda row: "",
    ):
        """Args:
        columns: a text is the head of a column of the rows' cells.
        rows: sequences of cells, or whatever the columns take their values from.
        note: what is said below the table, after the help of its columns.
        kind: what a row is about: a key of ``STYLES`` on a terminal, the row's class on a page.
        """
        self.title, self.rows, self.kind = title, list(rows), kind
        self.columns = [self._whole(place, column) for place, column in enumerate(columns)]
        told = [f"{column.head}: {column.help}" for column in self.columns if column.help]
        self.note = "; ".join([*told, *filter(None, [note])])

    def _whole(self, place: int, column: Column | str) -> Column:
        """A column that knows where its values are, and its side."""
        column = Column(column) if isinstance(column, str) else column
        value = column.value or itemgetter(place)
        is_numeric = any(isinstance(value(row), int | float) for row in self.rows)
        return replace(column, value=value, align=column.align or ("right" if is_numeric else "left"))

    def cells(self) -> list[list[str]]:
        """The texts of all cells, by row."""
        return [[column.text(row) for column in self.columns] for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """The rows for machines: values by head."""
        return [{column.head: column.value(row) for column in self.columns if column.value} for row in self.rows]

    def __rich__(self) -> rich.table.Table:
        """For the terminal. What is too long for a cell goes on below: cut, the names of two files would read alike."""
        drawn = rich.table.Table(
            title=self.title and f"\n{self.title}",
            caption=self.note or None,
            title_justify="left",
            caption_justify="left",
            box=SIMPLE_HEAD,
            show_edge=False,
            padding=(0, 1, 0, 0),
        )
        for column in self.columns:
            drawn.add_column(column.head, justify=column.align or "left", overflow="fold")
        for row in self.rows:
            cells = [Text(column.text(row), _on_colour(column.strength(row))) for column in self.columns]
            drawn.add_row(*cells, style=STYLES.get(self.kind(row)))
        return drawn

    def html(self, name: str = "") -> str:
        """For a page: the table, which scrolls if it is too wide, and its note. ``name``: the element's id."""
        heads = "".join(
            element("th", html.escape(column.head), class_=_classes(column), title=column.help)
            for column in self.columns
        )
        lines = "\n".join(element("tr", self._html_cells(row), class_=self.kind(row)) for row in self.rows)
        parts = element("thead", element("tr", heads)) + element("tbody", lines)
        note = element("p", html.escape(self.note), class_="note") if self.note else ""
        return element("div", element("table", parts, id=name, aria_label=self.title), class_="wide") + note

    def _html_cells(self, row: Any) -> str:
        return "".join(
            element("td", html.escape(column.text(row)), class_=_classes(column), style=_shade(column.strength(row)))
            for column in self.columns
        )

    def markdown(self, escape: Callable[[str], str] | None = None) -> str:
        """For Markdown, and its note below. ``escape``: done to every text; None: ``markdown_text``."""
        escape = escape or markdown_text
        rules = ["--:" if column.align == "right" else "---" for column in self.columns]
        texts = [[column.head for column in self.columns], *self.cells()]
        heads, *rows = ([escape(text) for text in line] for line in texts)
        note = f"\n{self.note[0].upper()}{self.note[1:]}.\n" if self.note else ""
        return "".join(f"| {' | '.join(row)} |\n" for row in (heads, rules, *rows)) + note


def element(tag: str, content: str, **attributes: object) -> str:
    """An element of HTML or SVG, attributes without a value left out; "_" in a name is "-", but for one at its end."""
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for name, value in attributes.items()
        if value not in ("", None)
    )
    return f"<{tag}{given}>{content}</{tag}>"


def markdown_text(text: str) -> str:
    """A text that Markdown shows as it is, also in a cell of a table. Within a word, "_" means nothing there."""
    return re.sub(r"[\\`*\[\]<>|$&#]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", text)


def _classes(column: Column) -> str:
    return f"{column.classes} {'number' if column.align == 'right' else ''}".strip()


def _on_colour(strength: float | None) -> str:
    """A style of rich from red (0) through yellow to green (1), as a ground that black is read on."""
    if strength is None:
        return ""
    return f"black on rgb({round(255 * min(1, 2 - 2 * strength))},{round(255 * min(1, 2 * strength))},80)"


def _shade(strength: float | None) -> str:
    """A style of CSS from red (0) through none to green (1), as a ground that the page's text is read on."""
    if strength is None:
        return ""
    colour, share = "win" if strength > 0.5 else "loss", round(100 * abs(strength - 0.5))
    return f"background: color-mix(in srgb, var(--cx-{colour}) {share}%, transparent)"


def _printable(text: str) -> str:
    return "\n".join(shown(line, None) for line in text.split("\n"))


class _Plain(Console):
    """Commands in what is printed are those that the user types."""

    def print(self, *objects: Any, **options: Any) -> None:
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
