"""Compares live functions and classes with their source, for ``writing``: which defaults and attributes have changed.

Also here: small edits of a definition's text, such as another name.
"""

import ast
import contextlib
import copy
import re
from collections.abc import Iterable
from enum import Enum
from types import FunctionType
from typing import Any

from connectx_toolkit.builder.notebook.carrying import literal_of
from connectx_toolkit.builder.notebook.ran import RanCell, assigned_in, definition_of

OF_NAMED_TUPLES = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
OF_PYTHON = {"_abc_impl", "_is_protocol", "_is_runtime_protocol"}  # that abc and typing put into classes


def as_called(node: ast.FunctionDef | ast.Lambda, variables: Iterable[str]) -> ast.stmt:
    """A function that holds another one without what runs as that is defined."""
    (outer,), inner = ast.parse(f"def _({', '.join(variables)}): pass").body, copy.deepcopy(node)
    assert isinstance(outer, ast.FunctionDef)
    inner.args.defaults = [ast.Constant(None) for _ in inner.args.defaults]
    inner.args.kw_defaults = [each and ast.Constant(None) for each in inner.args.kw_defaults]
    if isinstance(inner, ast.Lambda):
        outer.body = [ast.Expr(inner)]
    else:
        inner.decorator_list, outer.body = [], [inner]
    return outer


def owner_in(main: dict[str, Any], value: Any) -> str:
    """A name that a notebook gives a value, "" if none; IPython's own begin with _."""
    return next((name for name, held in main.items() if held is value and not name.startswith("_")), "")


def inner_function(value: Any) -> FunctionType | None:
    """The function that a decorator of a package holds."""
    if isinstance(value, FunctionType) and not hasattr(value, "__wrapped__"):
        return None
    for name in ("py_func", "__wrapped__"):
        with contextlib.suppress(Exception):  # a __getattr__ of the user's may raise anything
            if isinstance(inner := getattr(value, name, None), FunctionType):
                return inner
    return None


def defaults_of(given: ast.arguments, function: FunctionType) -> Iterable[tuple[str, ast.expr, Any]]:
    """The parameters whose defaults are not what their text gives: names, texts, and what they are."""
    positional, values = [*given.posonlyargs, *given.args], function.__defaults__ or ()
    named = [each.arg for each in positional[len(positional) - len(given.defaults) :]]
    defaults = list(zip(named, given.defaults, values, strict=False))
    keywords = function.__kwdefaults__ or {}
    pairs = zip((each.arg for each in given.kwonlyargs), given.kw_defaults, strict=True)
    defaults += [(name, node, keywords[name]) for name, node in pairs if node and name in keywords]
    return (each for each in defaults if not _is_literal_of(each[1], each[2]))


def is_as_written(cls: type, attribute: str, held: Any, node: ast.ClassDef, cells: list[RanCell]) -> bool:
    """Whether the class statement gives an attribute what it holds now, or Python does."""
    if attribute in OF_PYTHON or (issubclass(cls, tuple) and attribute in OF_NAMED_TUPLES):
        return True
    held = held.fget if type(held) is property else getattr(held, "__func__", held)
    if isinstance(held, FunctionType) and (definition := definition_of(held.__code__, cells)):
        return any(each is definition.node for each in ast.walk(node))
    if issubclass(cls, tuple | Enum) or hasattr(type(held), "__get__"):
        return True
    assigned = assigned_in(node.body)
    if attribute in assigned:
        return _is_literal_of(assigned[attribute], held)
    return any(getattr(each, "name", "") == attribute for each in node.body)


def _is_literal_of(node: ast.expr | None, held: Any) -> bool:
    """Whether an expression is a literal that gives a value which nothing can change."""
    try:
        return node is not None and bool(literal_of(held)) and repr(ast.literal_eval(node)) == repr(held)
    except ValueError:
        return False


def is_special(name: str) -> bool:
    """Whether a name is of Python itself, or of enum."""
    return name.startswith("_") and name.endswith("_")


def indent_of(text: str) -> str:
    """The spaces and tabs that a text begins with."""
    return text[: len(text) - len(text.lstrip(" \t"))]


def rename_definition(text: str, name: str) -> str:
    """The text of a function or class under another name."""
    return re.sub(r"^((?:async\s+)?(?:def|class)\s+)\w+", rf"\g<1>{name}", text, count=1, flags=re.MULTILINE)


def in_brackets(text: str) -> str:
    """An expression's text as it can stand in another line: in brackets if it has several."""
    return f"({text})" if "\n" in text else text
