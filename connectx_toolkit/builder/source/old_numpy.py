"""Names that numpy 2, which Kaggle has, no longer knows, such as np.Inf: a built file defines them again."""

import ast
from collections.abc import Iterable, Iterator, Mapping

from connectx_toolkit.builder.source.text import dotted_name

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
SET_AGAIN = "numpy 2 has no numpy.{}: the built file sets it again"
WERE = {old: now for now, names in OLD_NAMES.items() for old in names.split()}


def old_names_in(nodes: Iterable[ast.AST], imported: Mapping[str, str]) -> Iterator[tuple[str, ast.AST]]:
    """Each use of an old name. ``imported``: "np" -> "numpy"."""
    for node in nodes:
        module, _, name = dotted_name(node, imported).rpartition(".")
        if module == "numpy" and name in WERE and not isinstance(getattr(node, "ctx", None), ast.Store):
            yield name, node


def restoring_code(names: Iterable[str]) -> str:
    """Code that gives numpy old names again, "" for none."""
    lines = [f"numpy.{name} = {WERE[name]}" for name in sorted(names)]
    return "\n".join(["import numpy", "", *lines]) if lines else ""


def restoring_lines(source: str) -> str:
    """The lines of a source that ``restoring_code`` has written."""
    lines = [line for line in source.splitlines() if line.startswith("numpy.") and line[6:].split(" = ")[0] in WERE]
    return "\n".join(["import numpy", *lines]) if lines else ""
