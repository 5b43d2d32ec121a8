"""Charts as SVG, in light and dark: part of a page, or a file of their own. They hold their figures as text, too."""

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from connectx_toolkit.system.table import element, shorten

WIDTH, LETTER, LABEL = 840, 8, 40  # pixels of a chart and, at most on average, of a letter; letters of a label
PHONE = 320  # pixels of a chart that a phone shows at once
LINE_HEIGHT = 22  # pixels from one line of text to the next
COLOURS = ("#3b82f6", "#f97316", "#16a05a", "#c026d3", "#b58900", "#0ea5b7", "#ef4444", "#868c98")
POWERS = ("1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s", "1000 s")
DASHES = ("", "6 3", "2 3")  # of the first eight lines, the next eight, ...
STYLE = """
.chart { font: 13px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.chart text { fill: #18202e; } .chart .soft { fill: #566074; }
.chart .grid { stroke: #d9dfea; } .chart .ground { fill: #fff; }
@media (prefers-color-scheme: dark) { .chart text { fill: #e8ecf4; } .chart .soft { fill: #a3adc0; }
  .chart .grid { stroke: #3a4356; } .chart .ground { fill: #1a1f29; } }
"""


class Axis(NamedTuple):
    """Where values are drawn: pixels by value, from ``low`` at ``start`` to ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, least: float = 0.0) -> list[float]:
        """At most nine round values, at least ``least`` apart."""
        rough = max((self.high - self.low) / 8, 1e-9)
        power = 10.0 ** math.floor(math.log10(rough))
        step = max(least, next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9)))
        return [step * n for n in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)]


def text_element(x: float, y: float, words: str, anchor: str = "start", class_: str = "") -> str:
    """A line of text. A label that is too long loses its middle, and has all of it as its title."""
    cut = shorten([words], LABEL).get(words, words)
    title = element("title", html.escape(words)) if cut != words else ""
    return element("text", title + html.escape(cut), x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=class_)


def line_element(x1: float, y1: float, x2: float, y2: float, **stroke: object) -> str:
    """A straight line, of the grid unless a stroke is given."""
    ends = (f"{value:.1f}" for value in (x1, y1, x2, y2))
    return element("line", "", **dict(zip(("x1", "y1", "x2", "y2"), ends, strict=True)), **stroke or {"class_": "grid"})


def dot_element(x: float, y: float, colour: str) -> str:
    """A point."""
    return element("circle", "", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3.5, fill=colour)


def room_for(names: Iterable[str]) -> float:
    """Pixels that the longest of these labels takes."""
    return LETTER * max((min(len(name), LABEL) for name in names), default=0)


def chart(title: str, told: str, height: float, parts: Iterable[str]) -> str:
    """The whole picture. ``told``: its figures in words, for those who do not see it."""
    head = element("title", html.escape(title)) + element("desc", html.escape(told)) + element("style", STYLE)
    ground = element("rect", "", width="100%", height="100%", class_="ground")
    size = {"width": WIDTH, "height": f"{height:g}", "viewBox": f"0 0 {WIDTH} {height:g}"}
    space = "http://www.w3.org/2000/svg"
    return element("svg", "\n".join([head, ground, *parts]), xmlns=space, class_="chart", role="img", **size)


def line_chart(
    title: str, x_label: str, curves: Mapping[str, Sequence[tuple[float, float]]], top: float | None, unit: str
) -> str:
    """Curves by name, from (x, y) to (x, y), with a legend below, as narrow as a phone.

    Args:
        top: the largest y of the axis; None: y are seconds from 1e-6 to 1e3, on a logarithmic axis.
        unit: of y.
    """
    curves = {name: points for name, points in curves.items() if points}
    shown = curves if top else {name: [(x, math.log10(y)) for x, y in line] for name, line in curves.items()}
    xs, ys = zip(*(point for points in shown.values() for point in points), strict=True) if shown else ((0, 1), (0, 1))
    bottom, right, entry = 260.0, WIDTH - 20, 54 + room_for(curves)
    abreast = max(1, int(PHONE // entry))
    powers = math.floor(min(ys)), max(math.ceil(max(ys)), math.floor(min(ys)) + 1)
    least, highest = (0.0, top) if top else powers
    across, up = Axis(min(xs), max(*xs, min(xs) + 1), 70, right), Axis(least, highest, bottom, 20)
    parts = []
    for tick in up.ticks(0 if top else 1):
        words = f"{tick:g}{unit}" if top else POWERS[round(tick) + 6]
        parts += [
            line_element(70, up.at(tick), right, up.at(tick)),
            text_element(62, up.at(tick) + 4, words, "end", "soft"),
        ]
    parts += [text_element(across.at(x), bottom + LINE_HEIGHT, f"{x:g}", "middle", "soft") for x in across.ticks(1)]
    parts.append(text_element((70 + right) / 2, bottom + 2 * LINE_HEIGHT, x_label, "middle"))
    for number, (name, points) in enumerate(shown.items()):
        at, colour = [(across.at(x), up.at(y)) for x, y in points], COLOURS[number % len(COLOURS)]
        stroke = {"stroke": colour, "stroke_width": 2, "stroke_dasharray": DASHES[number // len(COLOURS) % len(DASHES)]}
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        parts += [
            element("polyline", "", points=path, fill="none", **stroke),
            *(dot_element(x, y, colour) for x, y in at),
        ]
        x, y = 20 + entry * (number % abreast), bottom + LINE_HEIGHT * (3 + number // abreast)
        parts += [line_element(x, y, x + 24, y, **stroke), text_element(x + 30, y + 4, name)]
    told = "; ".join(
        f"{name}: {', '.join(f'{y:.3g} {unit} at {x:g}' for x, y in points)}" for name, points in curves.items()
    )
    return chart(title, told, bottom + LINE_HEIGHT * (2 + math.ceil(len(curves) / abreast)) + 14, parts)
