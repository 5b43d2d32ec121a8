"""One table, its columns declared once, for terminals, pages, notebooks and Markdown; the console that prints it."""

import html
import io
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Literal, NamedTuple

import rich.table
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from connectx_toolkit.system.console import in_notebook
from connectx_toolkit.system.foreign import printable

# How columns show numbers.
whole, two_digits, three_digits, percent = "{:.0f}".format, "{:.2f}".format, "{:.3f}".format, "{:.1%}".format
STYLES = {  # of rows on a terminal, by what they are about
    "won": "green", "lost": "red", "given away": "bold red",
    "note": "yellow", "warning": "bold yellow", "unknown": "bold magenta", "reject": "bold red",
}  # fmt: skip

GAP = 2  # letters between the columns of a terminal
ONE_LINE = 16  # letters of a cell that always stand in one line

NOTEBOOK = """<style>
.connectx { --cx-win: #0f7a47; --cx-loss: #b3243a; }
div.connectx :is(td, th) { text-align: left; } div.connectx .number { text-align: right; }
div.connectx pre { white-space: pre-wrap; word-break: normal; font-family: monospace; }
</style>"""  # what a page's style sheet says; Jupyter's own sets all cells to the right, and breaks words


def plain(value: Any) -> str:
    """A value as a cell shows it, unless its column says otherwise."""
    return f"{value:.1f}" if isinstance(value, float) else str(value)


class Column(NamedTuple):
    """A column, declared once for all renderers."""

    head: str
    value: Callable[[Any], Any] | None = None  # of a row; None: its cell at the column's place
    show: Callable[[Any], str] = plain  # a value as text; the value None is an empty cell
    help: str = ""  # below the table, and on a page at the head as well
    align: Literal["left", "right"] | None = None  # None: numbers to the right
    classes: str = ""  # of its cells on a page
    shade: Callable[[Any], float] | None = None  # a value's colour, from 0 (red) to 1 (green)
    is_rare: bool = False  # left out if all its values are 0
    is_once: bool = False  # shown where it differs from the row above


class Table:
    """Rows under declared columns. A console prints it as it is; ``html`` and ``markdown`` write it.

    Columns that hold nothing are left out, but for machines.
    """

    def __init__(
        self,
        title: str,
        columns: Iterable[Column | str],
        rows: Iterable[Any],
        note: str = "",
        kind: Callable[[Any], str] = lambda row: "",
        names: int = 1,
    ):
        """Args:
        columns: a text is the head of a column of the rows' cells.
        rows: sequences of cells, or whatever the columns take their values from.
        note: what is said below the table, after the help of its columns.
        kind: what a row is about: a key of ``STYLES`` on a terminal, the row's class on a page.
        names: how many columns name a row, from the left. If a terminal is too narrow for all columns, the others go on
            in a table below, beside the same names.
        """
        whole = [Column(column) if isinstance(column, str) else column for column in columns]
        self.title, self.rows, self.names = title, list(rows), names
        self.kinds = [kind(row) for row in self.rows]
        values = [[c.value(row) if c.value else row[n] for n, c in enumerate(whole)] for row in self.rows]
        self._records = [dict(zip((column.head for column in whole), line, strict=True)) for line in values]
        self.columns, kept = list[Column](), list[int]()
        for n, c in enumerate(whole):
            told = [line[n] for line in values if line[n] is not None and (line[n] if c.is_rare else c.show(line[n]))]
            if told or not values:
                align: Literal["left", "right"] = "right" if any(isinstance(v, int | float) for v in told) else "left"
                self.columns.append(c._replace(align=c.align or align))
                kept.append(n)
        self.values = [[line[n] for n in kept] for line in values]
        helps = [(f"{column.head}: {column.help}", column.classes) for column in self.columns if column.help]
        self.told = [*helps, *([(note, "")] if note else [])]  # with the classes of the column
        self.note = "; ".join(words for words, _ in self.told)

    def cells(self) -> Iterator[list[tuple[Column, str, float | None]]]:
        """By row, of each cell: its column, its text, and its colour from 0 to 1, if it has one."""
        for above, values in zip([[None] * len(self.columns), *self.values], self.values, strict=False):
            yield [
                (c, "", None)
                if value is None or (c.is_once and value == before)
                else (c, c.show(value), c.shade(value) if c.shade else None)
                for c, before, value in zip(self.columns, above, values, strict=True)
            ]

    def records(self) -> list[dict[str, Any]]:
        """The rows for machines: values by head."""
        return self._records

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """For a terminal, and never wider than it: of what does not fit, cells go on below, at a space between words,
        then columns in a table below; at last, words lose their middle.
        """
        width, rows, columns = options.max_width, [*self.cells()], self.columns
        if self.title:
            yield Text(f"\n{_shorten_words([self.title], width)[0]}", "table.title")
        texts = [[row[n][1] for row in rows] for n in range(len(columns))]
        cells, least = [max(map(cell_len, each), default=0) for each in texts], list[int]()
        for column, each, size in zip(columns, texts, cells, strict=True):
            words = map(cell_len, " ".join([column.head, *each]).split())
            least.append(max([size if column.align == "right" else min(size, ONE_LINE), *words]))
        names = min(self.names, len(columns))
        least[:names] = _narrow_widths(least[:names], [1] * names, width // 2)
        room = max(1, width - sum(letters + GAP for letters in least[:names]))
        least[names:] = [min(room, letters) for letters in least[names:]]
        for number, others in enumerate(_blocks(least[names:], room)):
            block = [*range(names), *(names + n for n in others)]
            widths = [max(cells[n], cell_len(columns[n].head)) for n in block]
            for floors in ([max(least[n], cells[n]) for n in block], [least[n] for n in block]):  # heads first
                widths = _narrow_widths(widths, floors, width - GAP * (len(block) - 1))
            grid = rich.table.Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
            for n, letters in zip(block, widths, strict=True):
                (head,) = _shorten_words([columns[n].head], letters)
                grid.add_column(head, justify=columns[n].align or "left", width=letters, overflow="fold")
            fitted = [_shorten_words(texts[n], letters) for n, letters in zip(block, widths, strict=True)]
            for kind, row, *line in zip(self.kinds, rows, *fitted, strict=True):
                shown_cells = (Text(text, _ground(row[n][2])) for n, text in zip(block, line, strict=True))
                grid.add_row(*shown_cells, style=STYLES.get(kind))
            if number:
                yield Text()
            yield grid
        if self.note:
            yield Text(self.note, "table.caption")

    def html(self, name: str = "") -> str:
        """For a page: the table, which scrolls if it is too wide, and its note. ``name``: the element's id."""
        side = {column: f"{column.classes} {'number' * (column.align == 'right')}".strip() for column in self.columns}
        heads = (element("th", html.escape(c.head), class_=side[c], title=c.help) for c in self.columns)
        lines = [element("thead", element("tr", "".join(heads)))]
        for kind, row in zip(self.kinds, self.cells(), strict=True):
            cells = (element("td", html.escape(text), class_=side[c], style=_shade(shade)) for c, text, shade in row)
            lines.append(element("tr", "".join(cells), class_=kind))
        parts = (  # a page that is too narrow for a column hides what is said of it, too
            element("span", html.escape(words) + "; " * (place + 1 < len(self.told)), class_=classes)
            for place, (words, classes) in enumerate(self.told)
        )
        note = element("p", "".join(parts), class_="note") if self.note else ""
        whole = element("table", "\n".join(lines), id=name, aria_label=self.title)
        return element("div", whole, class_="wide") + note

    def markdown(self) -> str:
        """For Markdown, and its note below."""
        lines = [[markdown_text(column.head) for column in self.columns]]
        lines.append(["--:" if column.align == "right" else "---" for column in self.columns])
        lines += [[markdown_text(text) for _, text, _ in row] for row in self.cells()]
        note = f"\n{markdown_text(self.note[0].upper() + self.note[1:])}.\n" if self.note else ""
        return "".join(f"| {' | '.join(line)} |\n" for line in lines) + note


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


def _ground(shade: float | None) -> str:
    """A style of rich from red (0) through yellow to green (1), as a ground that black is read on."""
    if shade is None:
        return ""
    return f"black on rgb({round(255 * min(1, 2 - 2 * shade))},{round(255 * min(1, 2 * shade))},80)"


def _shade(shade: float | None) -> str:
    """A style of CSS from red (0) through none to green (1), as a ground that the page's text is read on."""
    colour, share = ("win" if (shade or 0) > 0.5 else "loss"), abs((shade or 0) - 0.5)
    return "" if shade is None else f"background: color-mix(in srgb, var(--cx-{colour}) {share:.0%}, transparent)"


def shorten(words: Collection[str], width: int) -> dict[str, str]:
    """Those of the words that are wider than so many letters, without their middle or their ends: by whole word.

    No two read alike. Words that would, wherever they are cut, are not in it.
    """
    long = {word for word in words if cell_len(word) > width}
    kept = (width - 1) // (2 if any(cell_len(word) > len(word) for word in long) else 1)
    heads = sorted(range(kept + 1), key=lambda head: abs(2 * head - kept))  # as many letters as at the end, or about so
    ways = [lambda word, n=n: f"{word[:n]}…{word[len(word) - kept + n :]}" for n in heads]
    ways += [lambda word, n=n: f"…{word[n : n + kept - 1]}…" for n in range(1, max(map(len, long), default=0))]
    for way in ways if kept > 1 else ():
        short = {word: way(word) for word in long}
        if len({*short.values()}) == len(long):
            return short
    return {}


def _shorten_words(texts: Sequence[str], width: int) -> list[str]:
    """Texts, in which words that are wider than so many letters are shortened."""
    short = shorten(" ".join(texts).split(), width)
    return [re.sub(r"\S+", lambda found: short.get(found[0], found[0]), text) for text in texts]


def _narrow_widths(widths: Sequence[int], floors: Sequence[int], most: int) -> list[int]:
    """Widths that together are at most ``most``, if the floors allow it: one by one, the widest loses a letter."""
    widths = [*widths]
    while sum(widths) > most and (wide := [n for n, width in enumerate(widths) if width > floors[n]]):
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """The places of columns, of which each fits into the room, in as few tables as hold them, about equally wide."""

    def fill_blocks(most: int) -> list[list[int]]:
        blocks, left = [list[int]()], most
        for n, width in enumerate(widths):
            if blocks[-1] and width > left:
                blocks, left = [*blocks, []], most
            blocks[-1].append(n)
            left -= width + GAP
        return blocks

    return min(map(fill_blocks, range(1, room + 1)), key=len)


def _printable_lines(text: str) -> str:
    return "\n".join(printable(line, None) for line in text.split("\n"))


class _Plain(Console):
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is printed, with escape sequences in texts shown: those of colours are put around it later."""
        for segment in super().render(renderable, options):
            is_plain = segment.control or (segment.text.isascii() and segment.text.replace("\n", "").isprintable())
            yield segment if is_plain else segment._replace(text=_printable_lines(segment.text))

    def on_broken_pipe(self) -> None:
        """Rich would end the process with code 1 here."""
        raise BrokenPipeError


def console_for_tables(file: io.StringIO | None = None) -> Console:
    """A console on standard output that prints every text as it is.

    It is as wide as the terminal, or one that reads a pipe (``| less``), or as COLUMNS says; else it has 80 letters.

    Names, titles and the texts of exceptions are other people's: [bold], [/x] and :x: in them are no markup, in lines
    or in tables. Print with this console alone, and escape nothing.

    Args:
        file: where to write instead.
    """
    force = False  # to show HTML in a notebook, where results show themselves
    colours = None if file is None else False
    return _Plain(file=file, markup=False, emoji=False, highlight=False, force_jupyter=force, force_terminal=colours)


class Typed(str):
    """A line that its reader copies and types."""


Part = Table | str  # of what is shown: a table, or a line


def print_parts(parts: Iterable[Part], console: Console | None = None, style: str | None = None) -> None:
    """Prints tables and lines. ``console``: by default ``console_for_tables()``.

    On a terminal a line goes on below, between words, but not a command, which is copied; elsewhere it stays one.
    """
    console = console or console_for_tables()
    for part in parts:
        is_narrow = console.is_terminal and not in_notebook()  # whose cells go on between words by themselves
        if is_narrow and isinstance(part, str) and not isinstance(part, Typed):
            fill = partial(textwrap.fill, width=console.width, break_long_words=False, break_on_hyphens=False)
            part = "\n".join(map(fill, part.split("\n")))
        console.print(part, style=style, soft_wrap=isinstance(part, str))


class Shown:
    """A result that prints as its tables and lines, and shows them in a notebook."""

    def parts(self) -> Iterable[Part]:
        """What is shown of it, in order."""
        raise NotImplementedError

    def __repr__(self) -> str:
        file = io.StringIO()
        print_parts(self.parts(), console_for_tables(file))
        return "\n".join(line.rstrip() for line in file.getvalue().splitlines()).strip("\n")

    def _repr_html_(self) -> str:
        shown = []
        for _, parts in groupby(self.parts(), type):
            run = list(parts)
            shown += [element("strong", html.escape(one.title)) + one.html() for one in run if isinstance(one, Table)]
            if lines := [part for part in run if isinstance(part, str)]:
                shown.append(element("pre", html.escape("\n".join(lines))))
        return element("div", "\n".join([NOTEBOOK, *shown]), class_="connectx")


class Told(Shown):
    """A result that is no more than what is shown of it. ``document``: makes what machines get of it."""

    def __init__(self, parts: Iterable[Part], document: Callable[[], dict[str, Any]] | None = None):
        self._parts = list(parts)
        self.document = document or self._tables

    def parts(self) -> list[Part]:
        return self._parts

    def _tables(self) -> dict[str, Any]:
        tables = {part.title: part.records() for part in self._parts if isinstance(part, Table)}
        return {"tables": tables, "lines": [part for part in self._parts if isinstance(part, str)]}
