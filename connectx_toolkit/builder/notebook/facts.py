"""Finds state of a running notebook that the agent's file would lack: filled caches, calls that changed a package."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import _lru_cache_wrapper
from types import ModuleType
from typing import Any

from connectx_toolkit.builder.notebook.ran import Definition, RanCell, definition_of
from connectx_toolkit.builder.notebook.reads import outside_functions

OF_PROCESS = {
    "hash": "hash() of texts is another number in each process",
    "id": "id() is another number in each process",
    "globals": "globals() has only the names that the file has",
}
# What is called of modules and changes none, or what is drawn alone; and modules that no move needs.
HARMLESS = {"seed", "manual_seed", "shuffle", "save", "savez", "savetxt", "dump", "sleep", "makedirs", "mkdir", "show"}
NEVER_NEEDED = {"matplotlib", "seaborn", "connectx_toolkit"}


def filled_caches(named: Iterable[tuple[str, Any]], cells: list[RanCell]) -> Iterator[tuple[str, str, Any]]:
    """Of the named values those caches that hold results: a line, the name, and the cache. A file's begin empty."""
    for name, held in {id(held): (name, held) for name, held in reversed([*named])}.values():
        if isinstance(held, _lru_cache_wrapper) and (count := held.cache_info().currsize):
            code = getattr(held.__wrapped__, "__code__", None)
            definition = definition_of(code, cells) if code else None
            yield f"{name}'s cache held {count} results{f' ({definition.place})' if definition else ''}", name, held


def acts_on_modules(main: Mapping[str, Any], cells: list[RanCell]) -> Iterator[tuple[Definition, str, str]]:
    """Statements of cells, outside functions, that act on modules, with the package, and b of a.b = ... or a.b()."""
    for cell in cells:
        for node in outside_functions(cell.tree):
            name, last = _acted_on(node)
            module: Any = main.get(name)
            top = module.__name__.partition(".")[0] if isinstance(module, ModuleType) else ""
            if isinstance(node, ast.stmt) and top and top not in NEVER_NEEDED and last not in HARMLESS:
                yield Definition(cell, node), top, last


def _acted_on(node: Any) -> tuple[str, str]:
    """X and b of a statement such as X.a.b(...), X.b = ... or X.a().b = ...; ("", "") of any other."""
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    for target in [node.value.func] if is_call else getattr(node, "targets", [getattr(node, "target", None)]):
        last = getattr(target, "attr", "")
        while isinstance(target, ast.Attribute | ast.Subscript | ast.Call):
            target = target.func if isinstance(target, ast.Call) else target.value
            if isinstance(target, ast.Name):
                return target.id, last
    return "", ""


def of_process(found: Definition, main: Mapping[str, Any]) -> Iterator[str]:
    """A line for each call in a definition whose result another process does not have."""
    for call in _calls_in(found.node):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if name in OF_PROCESS and name not in main:
            yield f"{OF_PROCESS[name]} ({found.cell.place(call.lineno)})"


def _calls_in(node: ast.AST) -> Iterator[ast.Call]:
    """But for those in __hash__: what that gives stays in the process."""
    if getattr(node, "name", "") != "__hash__":
        if isinstance(node, ast.Call):
            yield node
        for child in ast.iter_child_nodes(node):
            yield from _calls_in(child)
