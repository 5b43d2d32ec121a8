"""A ladder to publish: the table in Markdown, a plot, and JSON that ``evaluate.py list`` reads."""

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from connectx_toolkit.arena.reporting.tables import LADDER_NOTE, LADDER_TITLES, ladder_rows
from connectx_toolkit.arena.results.tournament import Standing
from connectx_toolkit.console.files import write_whole
from connectx_toolkit.places import AGENTS

PUBLISHED = AGENTS / "ladder.json"  # evaluate.py tournament ... --ladder agents/ladder


def new_figure(width: float, height: float, columns: int = 1):
    """A figure that needs no display, and its axes; sizes in inches."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    return pyplot.subplots(1, columns, figsize=(width, height))


def label(name: str) -> str:
    """A name as a label of a plot, whose dollars are no formula."""
    return name.replace("$", r"\$")


def name_lines(axes, lines: Sequence, names: Sequence[str]) -> None:
    """A legend of all lines: matplotlib leaves out those whose labels begin with "_", and so get theirs afterwards."""
    if not lines:
        return
    legend = axes.legend(lines, [str(number) for number in range(len(lines))], fontsize=8)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(label(name))


def ladder_figure(ladder: Sequence[Standing]):
    """Elo of every agent with its 95% interval, and beside it the share of the points in either seat."""
    figure, (left, right) = new_figure(10, 1 + 0.35 * len(ladder), 2)
    for place, line in enumerate(reversed(ladder)):
        elo, low, high = line.rating[:3]
        left.errorbar(elo, place, xerr=[[elo - low], [high - elo]], fmt="o", capsize=4, color="#2457a8")
        right.plot([100 * line.as_first, 100 * line.as_second], [place, place], color="#bbbbbb", zorder=1)
    places = range(len(ladder))
    for share, name, colour in (("as_first", "moving first", "#b89b00"), ("as_second", "moving second", "#d03030")):
        shares = [100 * getattr(line, share) for line in reversed(ladder)]
        right.scatter(shares, places, label=name, color=colour, zorder=2)
    left.set_yticks(places, [label(line.name) for line in reversed(ladder)])
    right.set_yticks(places, [""] * len(ladder))
    left.set_xlabel("Elo, 95% interval of the difference to the mean")
    right.set_xlabel("points, %")
    right.legend(loc="lower right", fontsize=8)
    for axes in (left, right):
        axes.set_ylim(-0.6, len(ladder) - 0.4)
        axes.grid(axis="x", alpha=0.3)
    figure.tight_layout()
    return figure


def markdown_text(text: str) -> str:
    """A text that Markdown shows as it is, also in a cell of a table. Within a word, "_" means nothing there."""
    return re.sub(r"[\\`*\[\]<>|$&#]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", text)


def ladder_markdown(ladder: Sequence[Standing]) -> str:
    """The ladder as a table in Markdown, numbers to the right, and what its intervals mean."""
    rules = ["---" if title == "agent" else "--:" for title in LADDER_TITLES]
    escaped = [[markdown_text(cell) for cell in row] for row in ladder_rows(ladder)]
    table = "".join(f"| {' | '.join(row)} |\n" for row in [list(LADDER_TITLES), rules, *escaped])
    return f"{table}\n{LADDER_NOTE[0].upper()}{LADDER_NOTE[1:]}.\n"


def write_ladder(stem: Path, ladder: Sequence[Standing], anchor: str) -> None:
    """Writes STEM.md, STEM.png and STEM.json, each whole or not at all."""
    from matplotlib import pyplot

    picture, figure = io.BytesIO(), ladder_figure(ladder)
    figure.savefig(picture, format="png", dpi=150, metadata={"Software": None})
    pyplot.close(figure)
    entries = {line.name: line.rating._asdict() for line in ladder}
    text = json.dumps({"anchor": anchor, "agents": entries}, indent=2) + "\n"
    for suffix, content in (
        (".md", ladder_markdown(ladder).encode()),
        (".png", picture.getvalue()),
        (".json", text.encode()),
    ):
        write_whole(stem.with_name(stem.name + suffix), content)


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
