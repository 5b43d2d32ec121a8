"""What code reads and changes: the names of its code objects, and of statements as they are written."""

import ast
import builtins
import dis
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

CHANGING = frozenset(
    [
        "append",
        "appendleft",
        "add",
        "clear",
        "discard",
        "extend",
        "fill",
        "insert",
        "pop",
        "popitem",
        "popleft",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
        "increment",
        "push",
    ]
)
OPAQUE = frozenset(
    {"getattr", "vars", "dir", "locals", "__dict__", "__slots__", "asdict", "astuple", "copy", "deepcopy"}
)
LONGEST_NAME = 60  # characters of a text that may name an attribute


class Names(NamedTuple):
    """The names in code objects.

    reads: of the module. stores: of the module, too. attributes: that are read of anything, or may be named by a text.
    """

    reads: frozenset[str]
    stores: frozenset[str]
    attributes: frozenset[str]

    @property
    def is_opaque(self) -> bool:
        """Whether any attribute may be read, by a name that is made as the code runs."""
        return bool((self.reads | self.attributes) & OPAQUE)


def within(code: CodeType) -> Iterator[CodeType]:
    """A code object and those in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from within(each)


def names_in(code: CodeType) -> Names:
    reads, stores, attributes = set[str](), set[str](), set[str]()
    for each in within(code):
        for step in dis.get_instructions(each):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                reads.add(step.argval)
            elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                stores.add(step.argval)
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
                attributes.add(step.argval)
            elif step.opname == "LOAD_CONST" and isinstance(step.argval, str) and len(step.argval) < LONGEST_NAME:
                attributes |= {step.argval} if step.argval.isidentifier() else set()
    return Names(frozenset(reads), frozenset(stores), frozenset(attributes))


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


def of_class_statement(node: ast.ClassDef) -> Names:
    """What a class statement reads as it runs, without what its functions read when they are called."""
    future = ast.parse("from __future__ import annotations").body
    code = compile(ast.Module([*future, node], []), "<class>", "exec")
    reads, own = set[str](), set[str]()
    for each in within(code):
        if each is not code and each.co_name not in (node.name, "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"):
            continue
        for step in dis.get_instructions(each):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                reads.add(step.argval)
            elif step.opname == "STORE_NAME":
                own.add(step.argval)
    return Names(frozenset(reads - own - {"__name__", "__module__", "__qualname__"}), frozenset(), frozenset())


def read_by(node: ast.AST) -> set[str]:
    """The names that an expression reads, but builtins."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    bound = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    bound |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    return names - bound - set(dir(builtins))


def changed_by(node: ast.AST) -> set[str]:
    """The names whose values a node's code changes in place: X[0] = 1, X.a += 1, X.append(1), X[0].add(1)."""
    found = set[str]()
    for each in ast.walk(node):
        if isinstance(each, ast.Subscript | ast.Attribute) and isinstance(each.ctx, ast.Store | ast.Del):
            found.add(_root(each))
        elif isinstance(each, ast.AugAssign):
            found.add(_root(each.target))
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in CHANGING:
            found.add(_root(each.func))
    return found - {""}


def _root(node: Any) -> str:
    """The name X in X, X[0].a and the like; "" if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def touches(name: str, statements: Iterable[ast.AST]) -> bool:
    """Whether one of the statements may change the value of a name: in place, or by a call that is given it."""
    for statement in statements:
        for node in ast.walk(statement):
            given = [*node.args, *(each.value for each in node.keywords)] if isinstance(node, ast.Call) else []
            if name in changed_by(node) or any(_root(each) == name for each in given):
                return True
            if isinstance(node, ast.Global) and name in node.names:
                return True
    return False
