"""Import statements for what packages define, as the cells write them where they do."""

import ast
import builtins
import contextlib
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from connectx_toolkit.builder.notebook.ran import Cell

INSTALLED = ("site-packages", "dist-packages")


class Import(NamedTuple):
    """An import of a name: the object that it binds, and the statement that binds it."""

    value: Any
    statement: str


def imports_in(cells: list[Cell]) -> dict[str, list[Import]]:
    """Name -> the imports in cells that bind it, of what is loaded."""
    found: dict[str, list[Import]] = {}
    for cell in cells:
        for node in ast.walk(cell.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    value = sys.modules.get(alias.name if alias.asname else bound)
                    renamed = f" as {alias.asname}" if alias.asname else ""
                    found.setdefault(bound, []).append(Import(value, f"import {alias.name}{renamed}"))
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    value = getattr(sys.modules.get(str(node.module)), alias.name, None)
                    value = sys.modules.get(f"{node.module}.{alias.name}") if value is None else value
                    renamed = f" as {alias.asname}" if alias.asname else ""
                    statement = f"from {node.module} import {alias.name}{renamed}"
                    found.setdefault(alias.asname or alias.name, []).append(Import(value, statement))
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
        for part in name.split("."):
            module = getattr(module, part, None)
        return module
    return None


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
