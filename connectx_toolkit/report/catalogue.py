"""The agents of the toolkit: what each does, its measured strength, its weights and its size."""

from pathlib import Path

from connectx_toolkit.players.spec import entry_of, kaggle_agents, kilobytes
from connectx_toolkit.report.ladder import read_ladder
from connectx_toolkit.system.console import shell
from connectx_toolkit.system.files import our_agents
from connectx_toolkit.system.table import Column, Table, Told

KAGGLES = "one of Kaggle's own"


def catalogue() -> Told:
    """The table of agents. The strengths come from agents/ladder.json, which a tournament writes."""
    ladder = read_ladder()
    rows: list[tuple[object, ...]] = []
    for entry in map(entry_of, our_agents()):
        weights = ", ".join(f"{Path(name).name} {kilobytes(size)}" for name, size in entry.data.items())
        rows.append((entry.name, entry.summary, ladder.get(entry.name), weights, entry.size))
    rows += [(name, KAGGLES, ladder.get(name), None, None) for name in sorted(kaggle_agents())]
    columns = ("name", "what it does", Column("Elo [95%]", align="right"), "weights", Column("source", show=kilobytes))
    table = Table("agents", columns, rows)
    if not ladder:
        return Told([table, f"Nothing is measured yet: {shell('evaluate tournament')} --help"])
    (anchor,) = {strength.anchor for strength in ladder.values()}
    others = [f"{name} {strength}" for name, strength in ladder.items() if "@" in name or "~" in name]
    return Told([table, f"Elo above {anchor}. " + "; ".join(others)])
