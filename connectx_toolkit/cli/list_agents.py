"""``evaluate.py list``: the agents that can be named, with what each is, how strong, and how large."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from connectx_toolkit.catalogue import entry_of, kilobytes, our_agents

if TYPE_CHECKING:
    pass

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
    from connectx_toolkit.arena.players.loading import kaggle_agents
    from connectx_toolkit.arena.reporting.ladder import read_ladder
    from connectx_toolkit.console.tables import Column, Table, console_for_tables

    ladder = read_ladder()
    rows: list[tuple[object, ...]] = []
    for entry in map(entry_of, our_agents()):
        weights = ", ".join(f"{Path(name).name} {kilobytes(size)}" for name, size in entry.data.items())
        rows.append((entry.name, entry.summary, ladder.get(entry.name), weights, entry.size))
    rows += [(name, KAGGLES, ladder.get(name), None, None) for name in sorted(kaggle_agents())]
    columns = ("name", "what it does", Column("Elo [95%]", align="right"), "weights", Column("source", show=kilobytes))
    console = console_for_tables()
    console.print(Table("agents", columns, rows))
    if ladder:
        (anchor,) = {strength.anchor for strength in ladder.values()}
        others = [f"{name} {strength}" for name, strength in ladder.items() if "@" in name or "~" in name]
        console.print(f"Elo above {anchor}. " + "; ".join(others))
    else:
        console.print("Nothing is measured yet: python evaluate.py tournament --help")
