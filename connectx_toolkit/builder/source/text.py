"""Finds the nodes of a source's tree in its text, and edits the text there."""

import ast
from collections.abc import Iterable, Mapping
from itertools import accumulate

Edit = tuple[int, int, str]  # start and end in a text, and what takes that place


class Text:
    """A source in which the nodes of its tree are found: ast counts lines from 1, and columns in bytes."""

    def __init__(self, text: str):
        self.text = text
        self.lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self.lines)]

    def offset(self, line: int, column: int = 0) -> int:
        """The index in the text of a position as ast gives it."""
        return self._starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node) -> tuple[int, int]:
        """The indices of a node's start and end; its decorators stand before it."""
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def of(self, node) -> str:
        """A node's text."""
        start, end = self.span(node)
        return self.text[start:end]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """A text with other texts in place of parts that do not overlap."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def dotted_name(node: ast.AST, names: Mapping[str, str]) -> str:
    """ "numpy.random.rand" of np.random.rand by what imports bind, {"np": "numpy"}; "" if it is no dotted name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return ".".join([names.get(node.id, node.id), *parts]) if isinstance(node, ast.Name) else ""


def first_line(node: ast.AST) -> int:
    """The line in which a statement begins, with its decorators."""
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])  # type: ignore[attr-defined]
