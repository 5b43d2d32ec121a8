"""The agents of the toolkit: what each does, its measured strength, its weights and its size."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from connectx_toolkit.players.spec import entry_of, kaggle_agents, kilobytes
from connectx_toolkit.system.console import shell
from connectx_toolkit.system.files import AGENTS, our_agents
from connectx_toolkit.system.table import Column, Table, Told

PUBLISHED = AGENTS / "ladder.json"  # evaluate.py tournament ... --ladder agents/ladder
KAGGLES = "one of Kaggle's own"


@dataclass(frozen=True)
class Strength:
    """An agent's measured Elo above the anchor; the rest as in ``connectx_toolkit.statistics.ratings.Rating``."""

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


def catalogue() -> Told:
    """The table of agents. The strengths come from agents/ladder.json, which a tournament writes."""
    ladder = read_ladder()
    rows, entries = list[tuple[object, ...]](), [*map(entry_of, our_agents())]
    for entry in entries:
        weights = ", ".join(f"{Path(name).name} {kilobytes(size)}" for name, size in entry.data.items())
        rows.append((entry.name, entry.summary, ladder.get(entry.name), weights, entry.size))
    rows += [(name, KAGGLES, ladder.get(name), None, None) for name in sorted(kaggle_agents())]
    columns = ("name", "what it does", Column("Elo [95%]", align="right"), "weights", Column("source", show=kilobytes))
    table = Table("agents", columns, rows)

    def document() -> dict[str, Any]:
        agents = [{"name": e.name, "does": e.summary, "bytes": e.size, "data": e.data} for e in entries]
        agents += [{"name": name, "does": KAGGLES, "bytes": None, "data": {}} for name in sorted(kaggle_agents())]
        return {"agents": agents, "strengths": {name: asdict(strength) for name, strength in ladder.items()}}

    if not ladder:
        return Told([table, f"Nothing is measured yet: {shell('evaluate tournament')} --help"], document)
    (anchor,) = {strength.anchor for strength in ladder.values()}
    others = [f"{name} {strength}" for name, strength in ladder.items() if "@" in name or "~" in name]
    return Told([table, f"Elo above {anchor}. " + "; ".join(others)], document)
