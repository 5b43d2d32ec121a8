"""What a search for better numbers has found: the table of the numbers, and the course of the search."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from connectx_toolkit.report.charts import line_chart
from connectx_toolkit.system.table import Column, Table, percent


class Tuned(NamedTuple):
    """A number, and what became of it."""

    name: str
    range: str
    before: Any
    after: Any
    matters: float | None  # the share of the costs' spread that it explains


NUMBERS = (
    Column("number", lambda number: number.name),
    Column("range", lambda number: number.range),
    Column("before", lambda number: number.before, str, align="right"),
    Column("best found", lambda number: number.after, str, align="right"),
    Column("matters", lambda number: number.matters, percent, "share of the differences between candidates that this "
           "number explains; together 100%", align="right"),
)  # fmt: skip


def numbers_table(numbers: Sequence[Tuned]) -> Table:
    """The numbers that were tuned."""
    return Table("numbers", NUMBERS, numbers)


def course_chart(costs: Sequence[tuple[int, float]], before: float | None, unit: str) -> str:
    """The best cost so far by candidate, beside that of the original, as SVG.

    Args:
        costs: number of each candidate that was asked to the end, and what it costs, in the order of the search.
        before: the original's.
    """
    best = list(accumulate((cost for _, cost in costs), min))
    steps = list[tuple[float, float]]()
    for (number, cost), low, earlier in zip(costs, best, [best[0], *best], strict=False):
        steps += [(number, earlier), (number, low)] if cost == low < earlier else []
    last = costs[-1][0]
    curves = {"best so far": [(costs[0][0], best[0]), *steps, (last, best[-1])]}
    if before is not None:
        curves["original"] = [(0, before), (last, before)]
    top = max(y for curve in curves.values() for _, y in curve) * 1.1 or 1.0
    return line_chart(f"Cost: {unit}", "candidate", curves, top, "")
