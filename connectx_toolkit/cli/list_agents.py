"""``evaluate.py list``: the agents that can be named, with what each is, how strong, and how large."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from connectx_toolkit.catalogue import entry_of, kilobytes, our_agents

if TYPE_CHECKING:
    from connectx_toolkit.arena.reporting.ladder import Strength

KAGGLES = "one of Kaggle's own"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=list_agents)
    parser.description = (
        "Lists the agents of the toolkit: what each does, its measured strength, its weights and its size."
    )
    parser.epilog = """\
example
  python evaluate.py list

The strengths come from agents/ladder.json, which a tournament writes with --ladder agents/ladder.
"""


def list_agents(options: argparse.Namespace) -> None:
    """Prints the table."""
    from rich.table import Table

    from connectx_toolkit.arena.players.loading import kaggle_agents
    from connectx_toolkit.arena.reporting.ladder import read_ladder
    from connectx_toolkit.console.tables import console_for_tables

    ladder = read_ladder()
    table = Table(title="agents")
    for title in ("name", "what it does", "Elo [95%]", "weights", "source"):
        table.add_column(title, justify="right" if title in ("Elo [95%]", "source") else "left")
    for entry in map(entry_of, our_agents()):
        weights = ", ".join(f"{Path(name).name} {kilobytes(size)}" for name, size in entry.data.items())
        table.add_row(entry.name, entry.summary, _strength(ladder, entry.name), weights, kilobytes(entry.size))
    for name in sorted(kaggle_agents()):
        table.add_row(name, KAGGLES, _strength(ladder, name), "", "")
    console = console_for_tables()
    console.print(table)
    if ladder:
        (anchor,) = {strength.anchor for strength in ladder.values()}
        others = [f"{name} {strength}" for name, strength in ladder.items() if "@" in name or "~" in name]
        console.print(f"Elo above {anchor}. " + "; ".join(others))
    else:
        console.print("Nothing is measured yet: python evaluate.py tournament --help")


def _strength(ladder: dict[str, Strength], name: str) -> str:
    return str(ladder[name]) if name in ladder else "-"
