"""Finds the names that a statement binds, and those that it reads: at once, or when its function is called.

It finds them in the statement's compiled code."""

import __future__

import ast
import builtins
import dis
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from inspect import CO_OPTIMIZED
from types import CodeType
from typing import NamedTuple

from connectx_toolkit.kaggle.agent_function import FUNCTIONS

# How functions are called that run with what is around them.
AT_ONCE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<generic parameters")
LOOKUPS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}  # steps of code, by names of the module or class
BINDING, SHARING = {"STORE_NAME", "DELETE_NAME"}, {"STORE_GLOBAL", "DELETE_GLOBAL"}
DEFINITIONS = FUNCTIONS | ast.ClassDef
IMPORTS = ast.Import | ast.ImportFrom
NAMESPACES = {"globals()", "locals()", "vars()"}  # one and the same at the top level
DUNDERS = {"__name__", "__file__", "__doc__", "__builtins__", "__package__", "__spec__", "__loader__", "__debug__"}
DUNDERS |= {"__annotations__", "__module__", "__qualname__"}
BUILTINS = frozenset(dir(builtins)) | DUNDERS


class Reads(NamedTuple):
    """The names of a module that a statement has to do with.

    binds: "*" for a star import.
    now: names read while the statement runs.
    later: names read when a function that it defines is called.
    perhaps: names that a class may bind itself.
    called: names that a function binds by ``global``.
    """

    binds: frozenset[str]
    now: frozenset[str]
    later: frozenset[str]
    perhaps: frozenset[str]
    called: frozenset[str]


def root_name(node: ast.AST | None) -> str:
    """The name X in X, X[0].a and the like; "" if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def names_beside(name: str, nodes: Iterable[ast.AST]) -> set[str]:
    """The parameters and local names of functions that mention a name."""
    functions = (each for node in nodes for each in ast.walk(node) if isinstance(each, FUNCTIONS | ast.Lambda))
    parts = [list(ast.walk(each)) for each in functions]
    known = [own for own in parts if any(isinstance(each, ast.Name) and each.id == name for each in own)]
    given = {each.arg for own in known for each in own if isinstance(each, ast.arg)}
    stored = {
        each.id for own in known for each in own if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    return given | stored


def outside_functions(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, but for those in the bodies of functions and classes, which run later."""
    yield statement
    if not isinstance(statement, FUNCTIONS | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(statement):
            yield from outside_functions(child)


def reads_of(node: ast.stmt, has_lazy: bool = False) -> Reads:
    """The names that a statement binds and reads. ``has_lazy``: annotations are not evaluated. Raises SyntaxError."""
    tree = ast.fix_missing_locations(ast.Module([node], []))
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | __future__.annotations.compiler_flag * has_lazy
    with warnings.catch_warnings(action="ignore"):
        top = compile(tree, "<statement>", "exec", flags, dont_inherit=True, optimize=0)
    names: dict[str, set[str]] = defaultdict(set)
    names["binds"] |= {"*"} if _binds_anything(node) else set()
    pending = [(top, False)]
    while pending:
        code, is_late = pending.pop()
        is_late |= bool(code.co_flags & CO_OPTIMIZED) and not code.co_name.startswith(AT_ONCE)
        steps = [step for step in dis.get_instructions(code) if step.argval not in DUNDERS]
        reads, own, shared = ({s.argval for s in steps if s.opname in kind} for kind in (LOOKUPS, BINDING, SHARING))
        names["later" if is_late else "now"] |= reads
        names["called" if is_late else "binds"] |= shared
        names["binds" if code is top else "perhaps"] |= own if code is top else own & reads
        pending += [(each, is_late) for each in code.co_consts if isinstance(each, CodeType)]
    return Reads(*(frozenset(names[name]) for name in Reads._fields))


def _binds_anything(node: ast.stmt) -> bool:
    """Whether a statement is a star import, or may bind names by exec or through their dictionary."""
    if isinstance(node, ast.ImportFrom):
        return node.names[0].name == "*"
    own = list(outside_functions(node))
    parts = (each.value for each in own if isinstance(each, ast.Subscript | ast.Attribute))
    called = {root_name(each.func) for each in own if isinstance(each, ast.Call)}
    return "exec" in called or any(ast.unparse(each) in NAMESPACES for each in parts)
