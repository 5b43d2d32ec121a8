"""Collects the import statements that an agent's file needs, for ``writing``.

They are those of the notebook's cells, or import a value from the module that defines it.

``unavailable_package`` says what a submission cannot import.
"""

import ast
import builtins
import contextlib
import sys
from operator import attrgetter
from types import ModuleType
from typing import Any

from connectx_toolkit.builder.notebook.carrying import NAMED_TYPES, literal_of
from connectx_toolkit.builder.notebook.own_modules import own_file, own_modules
from connectx_toolkit.builder.notebook.ran import RanCell
from connectx_toolkit.builder.notebook.reads import IMPORTS
from connectx_toolkit.kaggle.dependencies import REACHED, is_installed
from connectx_toolkit.kaggle.remedies import KNOWN_PACKAGES, standing_of


class Imports:
    """The imports of an agent's file, as they are added to ``statements``.

    Args:
        cells: those of the notebook.
    """

    def __init__(self, cells: list[RanCell]):
        self._of_cells = imports_in(cells)
        self.statements: dict[str, None] = {}

    def as_cells_do(self, name: str, value: Any) -> bool:
        """Imports a name as a cell does, if that gives this value, and it is of a package; whether it is."""
        if literal_of(value) and not isinstance(value, float):
            return False
        same = [statement for statement, held in self._of_cells.get(name, ()) if held is value]
        if not isinstance(value, NAMED_TYPES):
            same = [each for each in same if not own_file(sys.modules.get(each.split()[1]))]
        self.statements |= dict.fromkeys(same if isinstance(value, ModuleType) else same[-1:])
        return bool(same)

    def by_place(self, name: str, value: Any) -> str | None:
        """Imports a value from where it is defined: the statement that then binds the name, "" if the import does.

        None: it cannot be imported by a name.
        """
        place = place_of(value)
        if place is None:
            return None
        module, attribute = place
        first, _, rest = attribute.partition(".")
        bound = f"_{first}" if rest else name
        statement = f"from {module} import {first}" if first else f"import {module}"
        self.statements.setdefault(statement if bound == (first or module) else f"{statement} as {bound}")
        return f"{name} = {bound}.{rest}" if rest else ""

    def for_their_effects(self) -> None:
        """Imports modules of the user's, as cells do, that import what the agent uses: they may have added to it."""
        used = own_modules(statement.split()[1] for statement in self.statements)
        found = (statement for each in self._of_cells.values() for statement, _ in each)
        for statement in found:
            if used & own_modules([statement.split()[1]]) and statement not in self.statements:
                self.statements[statement] = None


def imports_in(cells: list[RanCell]) -> dict[str, list[tuple[str, Any]]]:
    """Name -> the imports in cells that bind it, of what is loaded: a statement, and what it gives."""
    places: dict[str, list[tuple[str, Any]]] = {}
    nodes = (node for cell in cells for node in ast.walk(cell.tree) if isinstance(node, IMPORTS))
    for node in nodes:
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            if isinstance(node, ast.Import):
                value = sys.modules.get(alias.name if alias.asname else bound)
                places.setdefault(bound, []).append((ast.unparse(ast.Import([alias])), value))
            elif not node.level:
                value = _attribute_of(sys.modules.get(str(node.module)), alias.name)
                value = sys.modules.get(f"{node.module}.{alias.name}") if value is None else value
                places.setdefault(bound, []).append((ast.unparse(ast.ImportFrom(node.module, [alias], 0)), value))
    return places


def place_of(value: Any) -> tuple[str, str] | None:
    """(module, qualified name) by which a function, class or module is imported, in the shortest way; None if none."""
    if isinstance(value, ModuleType):
        return (value.__name__, "") if sys.modules.get(value.__name__) is value else None
    names = dict.fromkeys(getattr(value, each, None) for each in ("__qualname__", "__name__"))
    home = getattr(value, "__module__", None) or ""
    parts = home.split(".")
    candidates = [".".join(parts[: count + 1]) for count in range(len(parts))] if home else []
    for module in [*candidates, *(each for each in list(sys.modules) if not home and "." not in each)]:
        for name in names:
            if name and module != "__main__" and _attribute_of(sys.modules.get(module), name) is value:
                return module, name
    return None


def _attribute_of(module: Any, name: str) -> Any:
    with contextlib.suppress(Exception):  # modules that load others as they are asked may raise anything
        return attrgetter(name)(module)
    return None


def unavailable_package(value: Any) -> str:
    """The package of a function, a class or a module, and what Kaggle is known to have of it; "" if it can be had."""
    place = place_of(value)
    top = place[0].partition(".")[0] if place else ""
    module = sys.modules.get(top)
    if top == "connectx_toolkit":
        return f"{top}: a submission brings only {REACHED}"
    if not top or top in KNOWN_PACKAGES | sys.stdlib_module_names | {REACHED} or (module and own_file(module)):
        return ""
    return f"{top}: {standing_of(top)}"


def is_builtin(value: Any) -> bool:
    """Whether a value is Python's own, or what IPython puts in its place, as it does with ``open``."""
    name, code = getattr(value, "__name__", ""), getattr(value, "__code__", None)
    own = value.__wrapped__ if code and is_installed(code.co_filename) and hasattr(value, "__wrapped__") else value
    return isinstance(name, str) and getattr(builtins, name, None) is own
