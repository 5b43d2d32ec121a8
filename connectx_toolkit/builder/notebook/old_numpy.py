"""Names of numpy that version 2, which Kaggle has, no longer knows: a built file gives them to it again."""

import ast
from collections.abc import Iterable, Mapping

from connectx_toolkit.builder.notebook.statements import Statement
from connectx_toolkit.builder.source.text import dotted, first_line

OLD_NAMES = {
    "numpy.inf": "Inf Infinity infty PINF",
    "-numpy.inf": "NINF",
    "numpy.nan": "NaN NAN",
    "str": "str unicode",
    **{name: name for name in ("int", "float", "object", "complex")},
    **{"numpy.float64": "float_", "numpy.complex128": "complex_", "numpy.str_": "unicode_", "numpy.bytes_": "string_"},
    **{"numpy.prod": "product", "numpy.cumprod": "cumproduct", "numpy.all": "alltrue", "numpy.any": "sometrue"},
    **{"numpy.isin": "in1d", "numpy.vstack": "row_stack"},
}
WERE = {old: now for now, names in OLD_NAMES.items() for old in names.split()}


def settings_in(source: str) -> str:
    """The lines of a source that give numpy old names again, as ``given_again`` writes them."""
    lines = [line for line in source.splitlines() if line.startswith("numpy.") and line[6:].split(" = ")[0] in WERE]
    return "\n".join(["import numpy", *lines]) if lines else ""


def given_again(statements: Iterable[Statement], imported: Mapping[str, str]) -> tuple[str, list[str]]:
    """Code that gives numpy the old names which statements use, "" if they use none; and where each is used."""
    where = dict[str, str]()
    for each in statements:
        inner = [part for part in ast.walk(each.node) if isinstance(part, ast.Import)]  # also inside functions
        named = {part.asname or part.name: part.name for node in inner for part in node.names} | dict(imported)
        for node in ast.walk(each.node):
            module, _, name = dotted(node, named).rpartition(".")
            if module == "numpy" and name in WERE:
                line = getattr(node, "lineno", 0) - first_line(each.node)
                where.setdefault(name, each.places[min(line, len(each.places) - 1)])
    lines = [f"numpy.{name} = {WERE[name]}" for name in sorted(where)]
    notes = [f"{where[name]}: numpy 2 has no numpy.{name}: the built file sets it again" for name in sorted(where)]
    return "\n".join(["import numpy", "", *lines]) if lines else "", notes
