"""Names of numpy that version 2, which Kaggle has, no longer knows, and what replaced them."""

import ast
from collections.abc import Callable
from typing import NamedTuple

REPLACED = {  # "{}" stands for what numpy is called
    **dict.fromkeys(("Inf", "Infinity", "infty", "PINF"), "{}.inf"),
    **dict.fromkeys(("NaN", "NAN"), "{}.nan"),
    "NINF": "(-{}.inf)",
    **{name: name for name in ("int", "float", "bool", "object", "complex", "str")},
    "unicode": "str",
    "float_": "{}.float64",
    "complex_": "{}.complex128",
    "unicode_": "{}.str_",
    "string_": "{}.bytes_",
    "product": "{}.prod",
    "cumproduct": "{}.cumprod",
    "alltrue": "{}.all",
    "sometrue": "{}.any",
    "in1d": "{}.isin",
    "row_stack": "{}.vstack",
}


class Replaced(NamedTuple):
    """A replacement in a text, in its line, counted from 0."""

    line: int
    old: str
    new: str


def modernised(text: str, qualified: Callable[[ast.AST], str]) -> tuple[str, list[Replaced]]:
    """A source with numpy's old names replaced, and what was replaced.

    Args:
        qualified: the dotted name of an expression, by imports: "numpy.Inf" of np.Inf.
    """
    edits: list[tuple[int, int, int, str, str]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and qualified(node) == f"numpy.{node.attr}" and node.attr in REPLACED:
            new = REPLACED[node.attr].format(ast.unparse(node.value))
            edits.append((node.lineno - 1, node.col_offset, node.end_col_offset or 0, ast.unparse(node), new))
        elif isinstance(node, ast.ImportFrom) and node.module == "numpy" and not node.level:
            edits += [edit for alias in node.names if (edit := _of_import(alias))]
    lines, found = [line.encode() for line in text.split("\n")], list[Replaced]()
    for line, start, end, old, new in sorted(edits, reverse=True):
        if lines[line][start:end].decode() == old:  # in some f-strings Python 3.11 gives wrong positions
            found.append(Replaced(line, old, new))
            lines[line] = lines[line][:start] + new.encode() + lines[line][end:]
    return b"\n".join(lines).decode(), found[::-1]


def _of_import(alias: ast.alias) -> tuple[int, int, int, str, str] | None:
    """from numpy import Inf becomes from numpy import inf as Inf; what is no longer numpy's stays, and fails."""
    new = REPLACED.get(alias.name, "")
    if not new.startswith("{}.") or alias.end_col_offset is None:
        return None
    to = f"{new[3:]} as {alias.asname or alias.name}"
    return (alias.lineno - 1, alias.col_offset, alias.end_col_offset, ast.unparse(alias), to)
