"""The agents of the toolkit: what each does, its measured strength, its weights and its size."""

import json
from pathlib import Path
from typing import Any

from connectx_toolkit.players.spec import catalogue_entry, kaggle_agents
from connectx_toolkit.system.console import shell
from connectx_toolkit.system.files import AGENTS, our_agents
from connectx_toolkit.system.table import Column, Table, Told, whole

PUBLISHED = AGENTS / "ladder.json"  # evaluate.py tournament ... --ladder agents/ladder
KAGGLES = "one of Kaggle's own"


def read_ladder(path: Path = PUBLISHED) -> tuple[str, dict[str, float]]:
    """The anchor, and the Elo above it by agent; "" and none if there is no such file.

    Raises ValueError: it is not a ladder.
    """
    if not path.exists():
        return "", {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return content["anchor"], {name: float(entry["elo"]) for name, entry in content["agents"].items()}
    except (UnicodeDecodeError, KeyError, TypeError, AttributeError, ValueError) as problem:
        raise ValueError(f"{path} is not a ladder: {problem!r}") from None


def catalogue() -> Told:
    """The table of agents. The strengths come from agents/ladder.json, which a tournament writes."""
    anchor, ladder = read_ladder()
    rows, entries = list[tuple[object, ...]](), [*map(catalogue_entry, our_agents())]
    for entry in entries:
        about = entry.summary.replace("``", "")
        rows.append((entry.name, about, ladder.get(entry.name), sum(entry.data.values()) or None, entry.size))
    rows += [(name, KAGGLES, ladder.get(name), None, None) for name in sorted(kaggle_agents())]
    sizes = [Column(head, show=lambda size: f"{size / 1000:.1f} kB", align="right") for head in ("weights", "source")]
    table = Table("agents", ["name", "what it does", Column("Elo", show=whole), *sizes], rows)

    def document() -> dict[str, Any]:
        agents = [{"name": e.name, "does": e.summary, "bytes": e.size, "data": e.data} for e in entries]
        agents += [{"name": name, "does": KAGGLES, "bytes": None, "data": {}} for name in sorted(kaggle_agents())]
        return {"agents": agents, "anchor": anchor if ladder else None, "elo": ladder}

    if not ladder:
        return Told([table, f"Nothing is measured yet: {shell('evaluate tournament')} --help"], document)
    others = [f"{name} {elo:.0f}" for name, elo in ladder.items() if "@" in name or "~" in name]
    return Told([table, f"Elo above {anchor}. " + "; ".join(others)], document)
