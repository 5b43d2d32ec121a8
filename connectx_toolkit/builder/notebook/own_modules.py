"""Finds the user's own modules that a notebook has imported, and where they differ from their files by now."""

import ast
import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from connectx_toolkit.builder.notebook.definitions import inner_function
from connectx_toolkit.builder.notebook.ran import RanCell, assigned_in, functions_of, is_in
from connectx_toolkit.kaggle.dependencies import REACHED, is_installed


def own_file(module: ModuleType | None) -> bool:
    """Whether a module is of a file of the user's, neither Python's nor installed."""
    file = getattr(module, "__file__", None)
    return file is not None and not is_installed(os.path.realpath(file))


def own_modules(names: Iterable[str]) -> set[ModuleType]:
    """The user's own of some modules, and of those that they import."""
    found, pending = set[ModuleType](), [*names]
    while pending:
        name = pending.pop()
        module = sys.modules.get(name)
        if module and module not in found and name.partition(".")[0] != REACHED and own_file(module):
            found.add(module)
            pending.append(name.rpartition(".")[0])
            for held in vars(module).values():
                if isinstance(held, ModuleType | FunctionType | type):
                    pending.append(held.__name__ if isinstance(held, ModuleType) else held.__module__)
    return found


def edited_in(module: ModuleType) -> list[str]:
    """Functions of a module that its file no longer has as they were loaded."""
    file, edited = _file_of(module), list[str]()
    for held in vars(module).values():
        functions = functions_of(held) if isinstance(held, type) else [inner_function(held) or held]
        codes = [each.__code__ for each in functions if isinstance(each, FunctionType)]
        edited += [each.co_qualname for each in codes if each.co_filename == file.file and not is_in(each, file)]
    return edited


def changed_in(module: ModuleType) -> Iterator[tuple[Any, str, Any]]:
    """What a module holds otherwise than its file defines it: the module or class, the name, the value.

    Literals, and functions and classes of others in the place of its own; moves tell the rest.
    """
    pending: list[tuple[Any, list[ast.stmt]]] = [(module, _file_of(module).tree.body)]
    while pending:
        owner, body = pending.pop()
        for name, given in assigned_in(body).items():
            with contextlib.suppress(ValueError, TypeError):
                if given and repr(ast.literal_eval(given)) != repr(held := vars(owner).get(name)):
                    yield owner, name, held
        for node in body:
            held = vars(owner).get(getattr(node, "name", ""))
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.decorator_list and held:
                if getattr(held, "__module__", None) != module.__name__:
                    yield owner, node.name, held
                elif isinstance(node, ast.ClassDef) and isinstance(held, type):
                    pending.append((held, node.body))


def _file_of(module: ModuleType) -> RanCell:
    file = str(module.__file__)
    return RanCell(Path(file).read_text(encoding="utf-8", errors="replace"), file)
