"""A ladder to publish: the table in Markdown, a chart, and JSON that ``catalogue`` reads."""

import json
from collections.abc import Sequence
from pathlib import Path

from connectx_toolkit.arena.tournament import Standing, ladder_table
from connectx_toolkit.report.charts import (
    COLOURS,
    WIDTH,
    Axis,
    chart,
    dot_element,
    line_element,
    room_for,
    text_element,
)
from connectx_toolkit.statistics.ratings import TOO_WIDE
from connectx_toolkit.system.files import write_whole


def ladder_chart(ladder: Sequence[Standing]) -> str:
    """Elo above the anchor of every agent with its 95% interval, as SVG."""
    left, bottom = 24 + room_for(standing.name for standing in ladder), 12 + 28.0 * len(ladder)
    limits = [max(one.rating.low, one.rating.elo - TOO_WIDE) for one in ladder]
    limits += [min(one.rating.high, one.rating.elo + TOO_WIDE) for one in ladder]
    axis = Axis(min(limits), max(limits) + 1, left + 10, WIDTH - 20)
    parts = [text_element(left - 20, bottom + 18, "Elo", "end")]
    for tick in axis.ticks():
        parts += [
            line_element(axis.at(tick), 8, axis.at(tick), bottom),
            text_element(axis.at(tick), bottom + 18, f"{tick:g}", "middle"),
        ]
    for place, standing in enumerate(ladder):
        rating = standing.rating
        ends = (max(axis.low, rating.low), min(axis.high, rating.high))  # of one that is too wide: as far as the chart
        y, mean, (low, high) = 24 + 28.0 * place, axis.at(rating.elo), map(axis.at, ends)
        if rating.is_wide:
            parts.append(text_element(mean + 10, y + 4, "too few games", "start", "soft"))
        else:
            strokes = [(low, y, high, y)] if low < high else []  # of the anchor there is a dot alone
            closed = [x for end, x in zip(rating[1:3], (low, high), strict=True) if strokes and end in ends]
            strokes += [(x, y - 5, x, y + 5) for x in closed]
            parts += [line_element(*ends_of, stroke=COLOURS[0], stroke_width=2) for ends_of in strokes]
        parts += [text_element(left, y + 4, standing.name, "end"), dot_element(mean, y, COLOURS[0])]
    words = "; ".join(f"{one.name} {one.rating.elo:.0f}, {one.rating.interval or 'the anchor'}" for one in ladder)
    return chart("Elo with 95% intervals", words, bottom + 30, parts)


def write_ladder(stem: Path, ladder: Sequence[Standing], anchor: str) -> None:
    """Writes STEM.md, STEM.svg and STEM.json, each whole or not at all."""
    entries = {standing.name: standing.rating._asdict() for standing in ladder}
    finite = json.loads(json.dumps({"anchor": anchor, "agents": entries}), parse_constant=lambda name: None)
    strengths = json.dumps(finite, indent=2) + "\n"  # of a bound that the games do not give: null
    contents = {".md": ladder_table(ladder, anchor).markdown(), ".svg": ladder_chart(ladder), ".json": strengths}
    for suffix, content in contents.items():
        write_whole(stem.with_name(stem.name + suffix), content.encode())
