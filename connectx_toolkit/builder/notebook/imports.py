"""Import statements for what packages define, as the cells write them where they do; and what is imported with them."""

import ast
import builtins
import contextlib
import sys
import sysconfig
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from connectx_toolkit.builder.notebook.carrying import NAMED, literal
from connectx_toolkit.builder.notebook.ran import Cell
from connectx_toolkit.builder.notebook.reads import IMPORTS
from connectx_toolkit.kaggle.dependencies import REACHED
from connectx_toolkit.kaggle.remedies import KNOWN, standing

INSTALLED = ("site-packages", "dist-packages")


class Import(NamedTuple):
    """An import of a name: the object that it binds, and the statement that binds it."""

    value: Any
    statement: str


class Imports:
    """The imports of an agent's file, as they are added.

    Args:
        cells: those of the notebook.

    Attributes:
        statements: the imports.
        modules: all that they load, themselves or by the user's modules.
    """

    def __init__(self, cells: list[Cell]):
        self._of_cells = imports_in(cells)
        self.statements: dict[str, None] = {}
        self.modules = set[ModuleType]()

    def as_cells_do(self, name: str, value: Any) -> bool:
        """Imports a name as a cell does, if that gives this value, and it is of a package; whether it is."""
        if literal(value) and not isinstance(value, float):
            return False
        same = [each.statement for each in self._of_cells.get(name, ()) if each.value is value]
        if not isinstance(value, NAMED):
            same = [each for each in same if not _is_users(each)]
        if same:
            is_module, place = isinstance(value, ModuleType), place_of(value)
            self.statements |= dict.fromkeys(same if is_module else same[-1:])
            self._use(value if is_module else place and place[0])
        return bool(same)

    def by_place(self, name: str, value: Any) -> str | None:
        """Imports a value from where it is defined: the statement that then binds the name, "" if the import does.

        None: it cannot be imported by a name.
        """
        found = place_of(value)
        if found is None:
            return None
        module, attribute = found
        first, _, rest = attribute.partition(".")
        bound = f"_{first}" if rest else name
        statement = f"from {module} import {first}" if first else f"import {module}"
        self.statements.setdefault(statement if bound == (first or module) else f"{statement} as {bound}")
        self._use(module)
        return f"{name} = {bound}.{rest}" if rest else ""

    def _use(self, module: Any) -> None:
        found = module if isinstance(module, ModuleType) else sys.modules.get(str(module))
        if found is None or found in self.modules:
            return
        self.modules.add(found)
        if file := own_file(found):
            cell = Cell(file.read_text(encoding="utf-8", errors="replace"), str(file))
            for each in chain.from_iterable(imports_in([cell]).values()):
                self._use(each.statement.split()[1])


def _is_users(statement: str) -> bool:
    module = sys.modules.get(statement.split()[1])
    return module is not None and own_file(module) is not None


def imports_in(cells: list[Cell]) -> dict[str, list[Import]]:
    """Name -> the imports in cells that bind it, of what is loaded."""
    found: dict[str, list[Import]] = {}
    nodes = (node for cell in cells for node in ast.walk(cell.tree) if isinstance(node, IMPORTS))
    for node in nodes:
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            if isinstance(node, ast.Import):
                value = sys.modules.get(alias.name if alias.asname else bound)
                statement: ast.stmt = ast.Import([alias])
            elif not node.level:
                value = _found(sys.modules.get(str(node.module)), alias.name)
                value = sys.modules.get(f"{node.module}.{alias.name}") if value is None else value
                statement = ast.ImportFrom(node.module, [alias], 0)
            else:
                continue
            found.setdefault(bound, []).append(Import(value, ast.unparse(statement)))
    return found


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
            if name and module != "__main__" and _found(sys.modules.get(module), name) is value:
                return module, name
    return None


def _found(module: Any, name: str) -> Any:
    with contextlib.suppress(Exception):  # modules that load others as they are asked may raise anything
        return attrgetter(name)(module)
    return None


def lacking(value: Any) -> str:
    """The package of a function, a class or a module, and what Kaggle is known to have of it; "" if it can be had."""
    found = place_of(value)
    top = found[0].partition(".")[0] if found else ""
    module = sys.modules.get(top)
    if top == "connectx_toolkit":
        return f"{top}: a submission brings only {REACHED}"
    if not top or top in KNOWN | sys.stdlib_module_names | {REACHED} or (module and own_file(module)):
        return ""
    return f"{top}: {standing(top)}"


def is_builtin(value: Any) -> bool:
    name = getattr(value, "__name__", "")
    return isinstance(name, str) and getattr(builtins, name, None) is value


def own_file(module: ModuleType) -> Path | None:
    """The file of a module of the user's: neither Python's nor installed; None of any other."""
    file = getattr(module, "__file__", None)
    if not file or any(part in INSTALLED for part in Path(file).parts):
        return None
    path = Path(file).resolve()
    python = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
    return None if any(path.is_relative_to(folder) for folder in python) else path


def top_of(module: ModuleType) -> tuple[str, Path] | None:
    """The name of a module's outermost package, and its file or folder, if it is of the user's; else None."""
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    file = own_file(module)
    if file is None:
        return None
    folders = [Path(folder).resolve() for folder in getattr(top, "__path__", ())]
    return top.__name__, next(iter(folders), own_file(top) or file)
