"""Finds the source of live functions and classes: in a notebook's cells, as IPython keeps them, or in a script.

A cell's text is that of the time when it ran, whatever stands in the notebook now. The exact cell of a function is
found through its code object, which names the cell.
"""

import ast
import contextlib
import inspect
import linecache
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from connectx_toolkit.builder.notebook.cells import MAGICS, texts_of_magic
from connectx_toolkit.builder.source.text import Text, first_line

FUNCTION_NODES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
TIMED = ("time", "timeit", "capture", "prun")  # magics that run the rest as Python


@dataclass
class RanCell:
    """Code that ran as one piece.

    Attributes:
        text: as it was compiled, in which lines count.
        file: what its code objects name as their file, "" if that is not known.
        number: of In[number]; 0 for a file.
        shift: lines of the cell above the text, such as %%time.
    """

    text: str
    file: str
    number: int = 0
    shift: int = 0

    @cached_property
    def tree(self) -> ast.Module:
        try:
            return ast.parse(self.text)
        except SyntaxError:
            return ast.Module([], [])

    @cached_property
    def source(self) -> Text:
        return Text(self.text)

    @cached_property
    def codes(self) -> set[tuple]:
        """What all its functions do, wherever they stand."""
        try:
            return {*map(_what_it_does, _codes_in(compile(self.text, self.file, "exec", dont_inherit=True)))}
        except (SyntaxError, ValueError):
            return set()

    @property
    def name(self) -> str:
        return f"In[{self.number}]" if self.number else self.file.replace("\\", "/").rpartition("/")[2]

    def place(self, line: int) -> str:
        return f"{self.name}, line {line + self.shift}"


class Definition(NamedTuple):
    """Where something is written."""

    cell: RanCell
    node: Any

    @property
    def place(self) -> str:
        return self.cell.place(self.node.lineno)

    @property
    def text(self) -> str:
        return self.cell.source.of(self.node)

    def place_of(self, name: str) -> str:
        """Where it mentions a name first."""
        lines = [each.lineno for each in ast.walk(self.node) if isinstance(each, ast.Name) and each.id == name]
        return self.cell.place(min(lines, default=self.node.lineno))


def ipython_shell() -> Any:
    """IPython's shell that runs here, None if there is none."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def cells_here() -> list[RanCell]:
    """The cells that ran, the first first; [] outside IPython. The one that runs now is among them."""
    here = ipython_shell()
    if here is None:
        return []
    history = here.history_manager
    entries = [(file, entry) for file, entry in linecache.cache.items() if len(entry) > 2]
    compiled = {"".join(entry[2]).rstrip(): file for file, entry in entries}
    cells = list[RanCell]()
    for number, (raw, text) in enumerate(zip(history.input_hist_raw, history.input_hist_parsed, strict=False)):
        cells.append(RanCell(text, compiled.get(text.rstrip(), ""), number, _blank_lines(raw) - _blank_lines(text)))
        for inner in _within_magics(cells[-1], here.transform_cell):
            inner.file = compiled.get(inner.text.rstrip(), "")  # of %%capture, not of %%time
            cells.append(inner)
    return cells


def _blank_lines(text: str) -> int:
    """The empty lines above a text, which IPython takes off."""
    return len(text) - len(text.lstrip("\n"))


def _within_magics(cell: RanCell, transformed: Callable[[str], str]) -> list[RanCell]:
    """What %%time and the like ran, which is code of no file."""
    inner = []
    for node in cell.tree.body if any(name in cell.text for name in MAGICS) else ():
        name, *options, text = texts_of_magic(node) or ["", ""]
        if name in TIMED:
            shift = cell.shift + node.lineno - (not options) + _blank_lines(text)
            with contextlib.suppress(SyntaxError):
                text = transformed(text)
            inner.append(RanCell(text, "", cell.number, shift))
    return inner


def definition_of(code: CodeType, cells: list[RanCell]) -> Definition | None:
    """Where the function of a code object is written; None if that was in no cell and no file, or is not there now."""
    own = [cell for cell in reversed(cells) if cell.file == code.co_filename]
    if not own and (lines := linecache.getlines(code.co_filename)):
        own = [RanCell("".join(lines), code.co_filename)]
    for cell in own or [cell for cell in reversed(cells) if not cell.file]:
        nodes = [node for node in ast.walk(cell.tree) if isinstance(node, FUNCTION_NODES) and _defines(node, code)]
        if nodes and (cell.number or is_in(code, cell)):
            return Definition(cell, next((node for node in nodes if _is_at(node, code)), nodes[0]))
    return None


def is_in(code: CodeType, file: RanCell) -> bool:
    """Whether a file still has a function as it was loaded, in any line."""
    return _what_it_does(code) in file.codes


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes_in(inner)


def _what_it_does(code: CodeType) -> tuple:
    """Two codes that have this in common do the same; their lines may be others."""
    held = [_what_it_does(each) if isinstance(each, CodeType) else (type(each), each) for each in code.co_consts]
    called_by = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    return code.co_qualname, code.co_code, *called_by, code.co_names, code.co_varnames, code.co_freevars, tuple(held)


def _defines(node: FUNCTION_NODES, code: CodeType) -> bool:
    return (getattr(node, "name", "<lambda>"), first_line(node)) == (code.co_name, code.co_firstlineno)


def _is_at(node: FUNCTION_NODES, code: CodeType) -> bool:
    """Whether a lambda's code begins where its node does: a line may have several."""
    starts = [(line, column) for line, _, column, _ in code.co_positions() if line is not None and column is not None]
    body = node.body if isinstance(node, ast.Lambda) else None
    inside = [start for start in starts if start != starts[0]]  # which is of the call as a whole
    return body is None or (body.lineno, body.col_offset) == min(inside, default=None)


def functions_of(cls: type) -> list[FunctionType]:
    """The functions of a class's own, as they were before decorators that tell."""
    held = (getattr(value, "__func__", getattr(value, "fget", value)) for value in vars(cls).values())
    return [inspect.unwrap(each) for each in held if isinstance(each, FunctionType)]


def class_source(cls: type, cells: list[RanCell]) -> Definition | None:
    """The statement that made a class: found by its functions, else the last of its name."""
    for function in functions_of(cls):
        if function.__module__ != cls.__module__:  # enum gives its own to a Flag
            continue
        made = definition_of(function.__code__, cells)
        for node in ast.walk(made.cell.tree) if made else ():
            if made and isinstance(node, ast.ClassDef) and node.name == cls.__name__ and made.node in ast.walk(node):
                return Definition(made.cell, node)
    return _last_statement(cells, lambda node: isinstance(node, ast.ClassDef) and node.name == cls.__name__)


def binding_of(name: str, cells: list[RanCell]) -> Definition | None:
    """The last statement of a cell that binds a name by a plain assignment."""
    return _last_statement(cells, lambda node: name in assigned_in([node]) and node.value is not None)


def _last_statement(cells: list[RanCell], fits: Callable[[Any], bool]) -> Definition | None:
    statements = (Definition(cell, node) for cell in reversed(cells) for node in reversed(cell.tree.body))
    return next((each for each in statements if fits(each.node)), None)


def assigned_in(statements: Iterable[ast.stmt]) -> dict[str, ast.expr | None]:
    """Name -> expression of plain assignments."""
    assigned = dict[str, ast.expr | None]()
    for each in statements:
        if isinstance(each, ast.Assign | ast.AnnAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            assigned |= {target.id: each.value for target in targets if isinstance(target, ast.Name)}
    return assigned
