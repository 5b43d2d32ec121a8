"""The source of functions and classes that ran, and in what they are no longer as it says."""

import ast
import re
from collections.abc import Iterator
from enum import Enum
from types import FunctionType
from typing import Any

from connectx_toolkit.builder.notebook.code_objects import functions_of
from connectx_toolkit.builder.notebook.ran import Cell, Definition, assigned_in, class_named, definition_of
from connectx_toolkit.builder.source.text import edited

OF_PYTHON = {"_abc_impl", "_is_protocol", "_is_runtime_protocol"}  # that abc and typing put into classes
CALLING_NONE = {"builtins", "abc", "typing", "collections", "enum"}  # whose classes call no method by a name of its own


def inner_function(value: Any) -> FunctionType | None:
    """The function that a decorator of a package holds."""
    if isinstance(value, FunctionType) and not hasattr(value, "__wrapped__"):
        return None
    for name in ("py_func", "__wrapped__", "pyfunc"):
        if isinstance(inner := getattr(value, name, None), FunctionType):
            return inner
    return None


def class_source(cls: type, cells: list[Cell]) -> Definition | None:
    """The statement that made a class: found by its functions, else the last of its name."""
    for function in functions_of(cls).values():
        found = definition_of(function.__code__, cells)
        for node in ast.walk(found.cell.tree) if found else ():
            if found and isinstance(node, ast.ClassDef) and node.name == cls.__name__ and found.node in ast.walk(node):
                return Definition(found.cell, node)
    return class_named(cls.__name__, cells)


def function_text(found: Definition, new: list[tuple[ast.expr, str]]) -> str:
    """The text of a function without its decorators, with other expressions in place of some."""
    source, node = found.cell.source, found.node
    start, end = source.span(node)
    indent = source.text[source.offset(node.lineno) : start]
    if not isinstance(node, ast.Lambda) and not indent.strip():
        start -= len(indent)
    edits = [(*source.span(each), text + "\n" * source.of(each).count("\n")) for each, text in new]
    return edited(source.text[start:end], [(first - start, last - start, text) for first, last, text in edits])


def indent_of(text: str) -> str:
    """The spaces and tabs that a text begins with."""
    return text[: len(text) - len(text.lstrip(" \t"))]


def renamed(text: str, name: str) -> str:
    """The text of a function or class under another name."""
    return re.sub(r"^((?:async\s+)?(?:def|class)\s+)\w+", rf"\g<1>{name}", text, count=1, flags=re.MULTILINE)


def bracketed(text: str) -> str:
    """An expression's text as it can stand in another line: in brackets if it has several."""
    return f"({text})" if "\n" in text else text


def defaults_of(given: ast.arguments, function: FunctionType) -> Iterator[tuple[str, ast.expr, Any]]:
    """The parameters whose defaults are not what their text gives: names, texts, and what they are."""
    positional, values = [*given.posonlyargs, *given.args], function.__defaults__ or ()
    named = [each.arg for each in positional[len(positional) - len(given.defaults) :]]
    found = list(zip(named, given.defaults, values, strict=False))
    keywords = function.__kwdefaults__ or {}
    pairs = zip((each.arg for each in given.kwonlyargs), given.kw_defaults, strict=True)
    found += [(name, node, keywords[name]) for name, node in pairs if node and name in keywords]
    return (each for each in found if not _gives(each[1], each[2]))


def is_as_written(cls: type, attribute: str, held: Any, node: ast.ClassDef, cells: list[Cell]) -> bool:
    """Whether the class statement gives an attribute what it holds now, or Python does."""
    is_fixed, is_descriptor = issubclass(cls, tuple | Enum), hasattr(type(held), "__get__")
    assigned = assigned_in(node.body)
    if attribute in assigned:
        return is_fixed or is_descriptor or _gives(assigned[attribute], held)
    if isinstance(held, FunctionType) and (found := definition_of(held.__code__, cells)):
        return any(each is found.node for each in ast.walk(node))
    is_in_body = any(getattr(each, "name", "") == attribute for each in node.body)
    is_slot = type(held).__name__ in ("member_descriptor", "getset_descriptor")
    is_made = is_slot or attribute in OF_PYTHON or (is_fixed and (attribute.startswith("_") or is_descriptor))
    return is_in_body or is_made


def is_special(name: str) -> bool:
    """Whether Python itself, or enum, calls a method of this name."""
    return name.startswith("_") and name.endswith("_")


def calls_methods(cls: type) -> bool:
    """Whether a class may call methods that others define, by names of its own."""
    return cls.__module__ not in CALLING_NONE


def _gives(node: ast.expr | None, held: Any) -> bool:
    """Whether an expression is a literal that gives a value."""
    try:
        return node is not None and repr(ast.literal_eval(node)) == repr(held)
    except ValueError:
        return False
