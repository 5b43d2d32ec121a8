"""The names that a statement binds and reads, by symtable, and the parts of its tree that run with it."""

import ast
import builtins
import symtable
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

COMPREHENSIONS = {"listcomp", "setcomp", "dictcomp", "genexpr"}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
IMPORTS = ast.Import | ast.ImportFrom
DUNDERS = {"__name__", "__file__", "__doc__", "__builtins__", "__package__", "__spec__", "__loader__", "__debug__"}
BUILTINS = frozenset(dir(builtins)) | DUNDERS


class Reads(NamedTuple):
    """The names of a module that a statement has to do with.

    binds: "*" for a star import.
    now, later: that it reads when it runs, and when what it defines is called.
    perhaps: that a class may bind itself.
    called: that a function binds by ``global``.
    """

    binds: frozenset[str]
    now: frozenset[str]
    later: frozenset[str]
    perhaps: frozenset[str]
    called: frozenset[str]


def targets_of(target: ast.expr) -> Iterator[str]:
    """The names that an assignment's target binds."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from targets_of(element)
    elif isinstance(target, ast.Starred):
        yield from targets_of(target.value)


def root(node: ast.AST | None) -> str:
    """The name X in X, X[0].a and the like; "" if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.AST) -> str:
    """ "a.b.c" of such an expression, "" of any other."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return ".".join([node.id, *parts]) if isinstance(node, ast.Name) else ""


def outside_functions(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, but for those in the bodies of functions and classes, which run later."""
    yield statement
    if not isinstance(statement, FUNCTIONS | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(statement):
            yield from outside_functions(child)


def run_at_once(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement that run with it: of a class its body, of a function decorators and defaults."""
    yield node
    parts = ast.iter_child_nodes(node)
    if isinstance(node, FUNCTIONS):
        parts = iter([*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)])
    elif isinstance(node, ast.Lambda):
        parts = iter([*node.args.defaults, *filter(None, node.args.kw_defaults)])
    for part in parts:
        yield from run_at_once(part)


class _Plain(ast.NodeTransformer):
    """Annotations that never run are left out, and x += 1 becomes x = x + 1, which reads x, as symtable sees it."""

    def __init__(self, has_lazy: bool):
        self.has_lazy, self.depth = has_lazy, 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if self.has_lazy:
            node.returns = None
            for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                argument.annotation = None
            for more in filter(None, (node.args.vararg, node.args.kwarg)):
                more.annotation = None
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if self.has_lazy or (self.depth and isinstance(node.target, ast.Name)):
            self.generic_visit(node)
            value = node.value or ast.Constant(None)
            return ast.copy_location(ast.Assign([node.target], value) if node.value else ast.Pass(), node)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        read = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.copy_location(ast.Assign([node.target], read), node)


def reads_of(node: ast.stmt, has_lazy: bool = False) -> Reads:
    """The names that a statement binds and reads. ``has_lazy``: annotations are not evaluated."""
    copy = ast.parse(ast.unparse(node))  # the original stays as it is
    plain = ast.unparse(ast.fix_missing_locations(_Plain(has_lazy).visit(copy)))
    try:
        top = symtable.symtable(plain, "<statement>", "exec")
    except SyntaxError:  # such as return outside a function: it cannot run, and binds what it seems to
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        return Reads(frozenset(names), frozenset(), frozenset(), frozenset(), frozenset())
    found: dict[str, set[str]] = defaultdict(set)
    found["binds"] |= {"*"} if _binds_anything(node) else set()
    pending = [(top, False)]
    while pending:
        table, is_late = pending.pop()
        for symbol in table.get_symbols():
            _file(symbol, table, is_late, found)
        for child in table.get_children():
            is_call = child.get_type() == "function" and child.get_name() not in COMPREHENSIONS
            pending.append((child, is_late or is_call))
    return Reads(*(frozenset(found[name]) for name in Reads._fields))


def _binds_anything(node: ast.stmt) -> bool:
    """Whether a statement is a star import, or binds names by exec or globals()."""
    if isinstance(node, ast.ImportFrom):
        return node.names[0].name == "*"
    own = list(outside_functions(node))
    return any(isinstance(each, ast.Call) and root(each.func) == "exec" for each in own) or bool(bound_by_globals(own))


def bound_by_globals(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that nodes bind by ``globals()["name"] = ...``; "*" where they cannot be told."""
    found = set[str]()
    for each in nodes:
        if not isinstance(each, ast.Subscript | ast.Attribute) or ast.unparse(each.value) != "globals()":
            continue
        if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store):
            found.add(str(each.slice.value) if isinstance(each.slice, ast.Constant) else "*")
        elif isinstance(each, ast.Attribute) and each.attr in ("update", "setdefault", "pop", "__setitem__"):
            found.add("*")
    return found


def _file(symbol: symtable.Symbol, table: symtable.SymbolTable, is_late: bool, found: dict[str, set[str]]) -> None:
    """Puts a symbol of a table where it belongs."""
    name, is_top, is_class = symbol.get_name(), table.get_type() == "module", table.get_type() == "class"
    is_bound = symbol.is_assigned() or symbol.is_imported()
    if is_top or symbol.is_global() or (is_class and is_bound):
        if symbol.is_referenced():
            found["later" if is_late else "now"].add(name)
            found["perhaps"] |= {name} if is_class and is_bound else set()
        if is_bound and not (is_class and not symbol.is_global()):
            found["called" if is_late else "binds"].add(name)
