"""Names of numpy that version 2, which Kaggle has, no longer knows, and what replaced them."""

import ast
from collections.abc import Callable, Iterator, Sequence

from connectx_toolkit.builder.source.text import Text, edited

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


def modernised(text: str, qualified: Callable[[ast.AST], str], places: Sequence[str]) -> tuple[str, list[str]]:
    """A source with numpy's old names replaced, and what was replaced where.

    Args:
        qualified: the dotted name of an expression, by imports: "numpy.Inf" of np.Inf.
        places: where people find each of its lines.
    """
    source = Text(text)
    edits = [
        (*source.span(node), new)
        for each in ast.walk(ast.parse(text))
        for node, new in _replaced(each, qualified)
        if source.of(node) == ast.unparse(node)  # in some f-strings Python 3.11 gives wrong positions
    ]
    notes = [
        f"{places[text.count(chr(10), 0, start)]}: {text[start:end]} is {new} in the built file: "
        f"numpy 2 has no {text[start:end]}"
        for start, end, new in sorted(edits)
    ]
    return edited(text, edits), notes


def _replaced(node: ast.AST, qualified: Callable[[ast.AST], str]) -> Iterator[tuple[ast.AST, str]]:
    """What is replaced of a node, and by what."""
    if isinstance(node, ast.Attribute) and qualified(node) == f"numpy.{node.attr}" and node.attr in REPLACED:
        yield node, REPLACED[node.attr].format(ast.unparse(node.value))
    elif isinstance(node, ast.ImportFrom) and node.module == "numpy" and not node.level:
        for alias in node.names:  # from numpy import Inf; what is no longer numpy's stays, and fails
            if (new := REPLACED.get(alias.name, "")).startswith("{}."):
                yield alias, f"{new[3:]} as {alias.asname or alias.name}"
