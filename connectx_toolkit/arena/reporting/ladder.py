"""A ladder to publish: the table in Markdown, a chart, and JSON that ``evaluate.py list`` reads."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from connectx_toolkit.arena.reporting.charts import COLOURS, LINE, WIDTH, Axis, chart, dot, line, room_for, text
from connectx_toolkit.arena.reporting.tables import ladder_table
from connectx_toolkit.arena.results.tournament import Standing
from connectx_toolkit.console.files import write_whole
from connectx_toolkit.places import AGENTS

PUBLISHED = AGENTS / "ladder.json"  # evaluate.py tournament ... --ladder agents/ladder


FIRST, SECOND = "#b89b00", "#d03030"  # of the points in either seat


def ladder_chart(ladder: Sequence[Standing]) -> str:
    """Elo of every agent with its 95% interval, and beside it the share of the points in either seat, as SVG."""
    left = 24 + room_for(standing.name for standing in ladder)
    bottom, middle = 40 + LINE * 1.3 * len(ladder), left + (WIDTH - left) * 0.56
    ends = [end for standing in ladder for end in standing.rating[1:3]]
    elo, points = Axis(min(ends), max(ends) + 1, left + 10, middle - 20), Axis(0, 1, middle + 20, WIDTH - 30)
    parts = [text(left + 10, 20, "Elo with 95% interval"), text(middle + 20, 20, "points, %")]
    parts += [dot(WIDTH - 250, bottom + 38, FIRST), text(WIDTH - 240, bottom + 42, "moving first")]
    parts += [dot(WIDTH - 130, bottom + 38, SECOND, 5, False), text(WIDTH - 120, bottom + 42, "moving second")]
    for axis, factor in ((elo, 1), (points, 100)):
        for tick in axis.ticks():
            parts.append(line(axis.at(tick), 32, axis.at(tick), bottom))
            parts.append(text(axis.at(tick), bottom + 18, f"{factor * tick:g}", "middle", "soft"))
    for place, standing in enumerate(ladder):
        y, (mean, low, high) = 40 + LINE * 1.3 * (place + 0.5), standing.rating[:3]
        first, second = points.at(standing.as_first), points.at(standing.as_second)
        blue = {"stroke": COLOURS[0], "stroke_width": 2}
        bars = [line(elo.at(low), y, elo.at(high), y, **blue)]
        bars += [line(elo.at(end), y - 5, elo.at(end), y + 5, **blue) for end in (low, high)]
        parts += [text(left, y + 4, standing.name, "end"), *bars, dot(elo.at(mean), y, COLOURS[0])]
        parts += [line(first, y, second, y), dot(first, y, FIRST), dot(second, y, SECOND, 5, False)]
    told = "; ".join(
        f"{one.name}: {one.rating.elo:.0f}, {one.rating.low:.0f} to {one.rating.high:.0f}; points {one.as_first:.0%} "
        f"moving first, {one.as_second:.0%} moving second"
        for one in ladder
    )
    return chart("Elo with 95% intervals, and points by seat", told, bottom + 54, parts)


def write_ladder(stem: Path, ladder: Sequence[Standing], anchor: str) -> None:
    """Writes STEM.md, STEM.svg and STEM.json, each whole or not at all."""
    entries = {standing.name: standing.rating._asdict() for standing in ladder}
    strengths = json.dumps({"anchor": anchor, "agents": entries}, indent=2) + "\n"
    found = {".md": ladder_table(ladder, anchor).markdown(), ".svg": ladder_chart(ladder), ".json": strengths}
    for suffix, content in found.items():
        write_whole(stem.with_name(stem.name + suffix), content.encode())


@dataclass(frozen=True)
class Strength:
    """An agent's measured Elo above the anchor; the rest as in ``connectx_toolkit.arena.results.ratings.Rating``."""

    elo: float
    low: float
    high: float
    games: int
    anchor: str
    above_next: bool | None = None

    def __str__(self) -> str:
        return f"{self.elo:.0f} [{self.low:.0f}, {self.high:.0f}]"


def read_ladder(path: Path = PUBLISHED) -> dict[str, Strength]:
    """Strengths by agent; none if there is no such file.

    Raises:
        ValueError: it is not a ladder.
    """
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {name: Strength(**entry, anchor=content["anchor"]) for name, entry in content["agents"].items()}
    except (UnicodeDecodeError, KeyError, TypeError, AttributeError, ValueError) as problem:
        raise ValueError(f"{path} is not a ladder: {problem!r}") from None
