"""``evaluate.py list``: the agents that can be named, with what each is, how strong, and how large."""

import argparse
import ast
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from arena.players.loading import kaggle_agents, our_agents
from arena.players.spec import ROOT
from arena.reporting.ladder import Strength, read_ladder
from console.tables import console_for_tables

KAGGLES = "one of Kaggle's own"


class Entry(NamedTuple):
    """What is known of an agent of ours without running it."""

    name: str
    summary: str  # first line of its docstring
    data: dict[str, int]  # bytes of each data file that it reads
    size: int  # bytes of its own source


def entry_of(name: str, folder: Path = ROOT / "agents") -> Entry:
    """Reads an agent's source; data files are those that it names in calls of ``read_data``."""
    path = folder / f"{name}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    data = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "read_data":
            for argument in node.args:
                if isinstance(argument, ast.Constant) and (folder / str(argument.value)).is_file():
                    data[str(argument.value)] = (folder / str(argument.value)).stat().st_size
    summary = (ast.get_docstring(tree) or "").partition("\n")[0]
    return Entry(name, summary, data, path.stat().st_size)


def kilobytes(size: int) -> str:
    return f"{size / 1000:.1f} kB"


def list_agents(options: argparse.Namespace) -> None:
    """Prints the table."""
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
