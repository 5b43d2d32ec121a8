"""What code reads and changes: the names of its code objects, and of statements as they are written."""

import ast
import dis
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import NamedTuple

from connectx_toolkit.builder.notebook.reads import READING, SHARING, root

CHANGING = {"append", "appendleft", "add", "clear", "discard", "extend", "fill", "insert", "pop", "popitem", "popleft"}
CHANGING |= {"remove", "reverse", "setdefault", "sort", "update"}  # methods that change what they are of
OPAQUE_FUNCTIONS = frozenset({"getattr", "vars", "dir", "locals", "asdict", "astuple"})
OPAQUE = frozenset({"__dict__", "__slots__", "asdict", "astuple"})
LONGEST_NAME = 60  # characters of a text that may name an attribute


class CodeNames(NamedTuple):
    """The names in code objects.

    reads: of the module. stores: of the module, too. attributes: that are read of anything, or may be named by a text.
    lines: in which a name of the module is read first.
    """

    reads: frozenset[str]
    stores: frozenset[str]
    attributes: frozenset[str]
    lines: dict[str, int]


def within(code: CodeType) -> Iterator[CodeType]:
    """A code object and those in it, but for annotations, which nobody needs."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType) and each.co_name != "__annotate__":
            yield from within(each)


def names_in(code: CodeType) -> CodeNames:
    reads, stores, attributes, lines = set[str](), set[str](), set[str](), dict[str, int]()
    for each in within(code):
        for step in dis.get_instructions(each):
            if step.opname in READING:
                reads.add(step.argval)
                lines.setdefault(step.argval, (step.positions and step.positions.lineno) or code.co_firstlineno)
            elif step.opname in SHARING:
                stores.add(step.argval)
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
                attributes.add(step.argval)
            elif step.opname == "LOAD_CONST" and isinstance(step.argval, str) and len(step.argval) < LONGEST_NAME:
                attributes |= {step.argval} if step.argval.isidentifier() else set()
    return CodeNames(frozenset(reads), frozenset(stores), frozenset(attributes), lines)


def rebound_by(code: CodeType) -> set[str]:
    """The variables of functions around it that a function binds anew."""
    steps = [step for each in within(code) for step in dis.get_instructions(each)]
    return {step.argval for step in steps if step.opname == "STORE_DEREF"} & set(code.co_freevars)


def is_opaque(node: ast.AST) -> bool:
    """Whether code may read any attribute, by a name that is made as it runs."""
    named = {id(each.func) for each in ast.walk(node) if isinstance(each, ast.Call) and _names_attribute(each)}
    return any(
        (isinstance(each, ast.Name) and each.id in OPAQUE_FUNCTIONS and id(each) not in named)
        or (isinstance(each, ast.Attribute) and each.attr in OPAQUE)
        for each in ast.walk(node)
    )


def _names_attribute(call: ast.Call) -> bool:
    """Whether it is of getattr or the like, with the attribute's name as a text."""
    return call.args[1:] != [] and isinstance(call.args[1], ast.Constant)


def functions_of(cls: type) -> dict[str, FunctionType]:
    """The functions of a class's own, as they were before decorators that tell."""
    found = {}
    for name, value in vars(cls).items():
        for inner in (value, *(getattr(value, part, None) for part in ("__func__", "fget", "func", "py_func"))):
            while isinstance(inner, FunctionType) and hasattr(inner, "__wrapped__"):
                inner = inner.__wrapped__
            inner = getattr(inner, "__wrapped__", inner)
            if isinstance(inner, FunctionType):
                found[name] = inner
    return found


def changed_in_place(node: ast.AST) -> set[str]:
    """The names whose values a node's code changes in place: X[0] = 1, X.a += 1, X.append(1), X[0].add(1)."""
    found = set[str]()
    for each in ast.walk(node):
        if isinstance(each, ast.Subscript | ast.Attribute) and isinstance(each.ctx, ast.Store | ast.Del):
            found.add(root(each))
        elif isinstance(each, ast.AugAssign):
            found.add(root(each.target))
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in CHANGING:
            found.add(root(each.func))
    return found - {""}


def touches(name: str, statements: Iterable[ast.AST]) -> bool:
    """Whether one of the statements may change the value of a name: in place, or by a call that is given it."""
    for statement in statements:
        for node in ast.walk(statement):
            given = [*node.args, *(each.value for each in node.keywords)] if isinstance(node, ast.Call) else []
            if name in changed_in_place(node) or any(root(each) == name for each in given):
                return True
            if isinstance(node, ast.Global) and name in node.names:
                return True
    return False
