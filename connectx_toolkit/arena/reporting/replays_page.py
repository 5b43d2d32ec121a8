"""The page of one's own replays: a table to filter, the games to replay with exact scores, and the summary.

The board is the replayer of the reports' page.
"""

import html
import json
from collections.abc import Sequence
from string import Template
from typing import Any

from connectx_toolkit.arena.replays.review import Review
from connectx_toolkit.arena.replays.summary import Section
from connectx_toolkit.arena.reporting.page import file_text, game_entry
from connectx_toolkit.arena.reporting.replay_tables import cell_text, ending_words, mistake_words, slowest_words
from connectx_toolkit.page import component


def replays_page(team: str, reviews: Sequence[Review], headline: Sequence[str], sections: Sequence[Section]) -> str:
    """The whole page."""
    games = [game_entry(one.replay.record, one.judged, one.replay.ending) for one in reviews]
    return Template(file_text("replays_page.html")).substitute(
        team=html.escape(team),
        style=component.style() + file_text("page.css") + file_text("replays_page.css"),
        headline="\n".join(f"<p>{html.escape(line)}</p>" for line in headline),
        sections="\n".join(map(section_html, sections)),
        games=_data(games),
        rows=_data([row_entry(review) for review in reviews]),
        replayer=component.script("replayer.js"),
        script=file_text("replays_page.js"),
    )


def _data(value: Any) -> str:
    return json.dumps(value).replace("<", "\\u003c")  # so that no name can end the script element


def row_entry(review: Review) -> dict[str, Any]:
    """A row of the table, in words, and what its filters and jumps go by."""
    row = review.row()
    given = [mistake_words(one) for one in row["mistakes"]]
    return {
        "game": row["game"],
        "opponent": row["opponent"],
        "seat": row["seat"],
        "result": row["result"],
        "status": row["status"],
        "cause": row["cause"],
        "ended": ending_words(review),
        "plies": row["plies"],
        "overage": row["overage"],
        "slowest": slowest_words(row),
        "first": given[0] if given else "",
        "last": given[-1] if given else "",
        "mistakes": [one["ply"] for one in row["mistakes"]],
    }


def section_html(section: Section) -> str:
    """A section of the summary as an HTML table."""
    numeric = [any(not isinstance(row[n], str) for row in section.rows) for n in range(len(section.heads))]
    classes = ['class="number"' if is_number else "" for is_number in numeric]
    heads = "".join(f"<th {kind}>{html.escape(head)}</th>" for kind, head in zip(classes, section.heads, strict=True))
    lines = [f"<section><h2>{html.escape(section.title)}</h2><table><tr>{heads}</tr>"]
    for row in section.rows:
        cells = (f"<td {kind}>{html.escape(cell_text(c))}</td>" for kind, c in zip(classes, row, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    note = f'<p class="note">{html.escape(section.note)}</p>' if section.note else ""
    return "\n".join([*lines, f"</table>{note}</section>"])
