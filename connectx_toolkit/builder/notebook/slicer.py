"""What a function or class needs of a file's or a notebook's statements, and nothing else of them.

A statement is needed if it binds a name that is needed, or changes its value in place. What a function reads counts as
of the place where it is called: in a game, that is the end. Of several definitions of a name, those that a needed
statement can meet are taken, which is mostly the last. Nothing is run.
"""

import ast
import builtins
import symtable
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

CHANGERS = {"copyto", "put", "place", "putmask", "fill_diagonal", "shuffle", "setattr", "heapify", "heappush", "insort"}
TAKERS = {"pop", "popitem", "setdefault"}  # methods that change a value although something is made of what they give
TRAINERS = {"learn", "fit", "step", "partial_fit", "fit_generator", "train_on_batch", "train_step", "minimize"}
TRAINERS |= {"optimize", "apply_gradients"}
COMPREHENSIONS = {"listcomp", "setcomp", "dictcomp", "genexpr"}
# Calls whose result has nothing of what they are given, and so is changed without it.
FRESH = {"len", "int", "float", "str", "bool", "sum", "abs", "round", "print", "range", "isinstance", "type", "hash"}
FRESH |= {"repr", "any", "all", "deepcopy", "copy", "item", "tolist", "array", "zeros", "ones"}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
IMPORTS = ast.Import | ast.ImportFrom
DUNDERS = {"__name__", "__file__", "__doc__", "__builtins__", "__package__", "__spec__", "__loader__", "__debug__"}
BUILTINS = frozenset(dir(builtins)) | DUNDERS
MAKERS = {"kaggle_environments.make", "kaggle_environments.core.make"}
END = 10**9  # the point where games are played


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


@dataclass
class Statement:
    """A statement at the top level.

    place: "lesson.ipynb, cell 16, line 3" of a line of ``text``, from 0.
    where: "cell 16".
    changes: names whose values it changes in place.
    """

    number: int
    node: ast.stmt
    text: str
    places: list[str]
    where: str
    reads: Reads
    changes: frozenset[str] = frozenset()

    @property
    def ends(self) -> frozenset[str]:
        """The names that it binds whatever they were before."""
        node = self.node
        if isinstance(node, FUNCTIONS | ast.ClassDef | IMPORTS):
            return self.reads.binds - {"*"}
        if isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value is not None):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return frozenset(name for target in targets for name in targets_of(target))
        return frozenset()


def targets_of(target: ast.expr) -> Iterator[str]:
    """The names that an assignment's target binds."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from targets_of(element)
    elif isinstance(target, ast.Starred):
        yield from targets_of(target.value)


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
    return any(
        (isinstance(each, ast.Call) and root(each.func) == "exec")
        or (
            isinstance(each, ast.Subscript | ast.Attribute)
            and ast.unparse(each).startswith("globals()")
            and (isinstance(each, ast.Attribute) or isinstance(each.ctx, ast.Store))
        )
        for each in outside_functions(node)
    )


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


@dataclass
class Names:
    """What the names of a page stand for.

    imported: name -> "numpy.random".
    functions, classes: the last of each name.
    values: all other names.
    modules: own modules -> what their names stand for.
    """

    imported: dict[str, str] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    values: set[str] = field(default_factory=set)
    modules: Mapping[str, "Names"] = field(default_factory=dict)

    def qualified(self, node: ast.AST) -> str:
        """The dotted name of an expression, by imports: "numpy.random.rand"."""
        first, _, rest = dotted(node).partition(".")
        return ".".join(filter(None, (self.imported.get(first, first), rest)))

    def methods(self, name: str) -> list[ast.FunctionDef]:
        """Those of that name in classes of the page."""
        bodies = (each for kind in self.classes.values() for each in kind.body)
        return [each for each in bodies if isinstance(each, ast.FunctionDef) and each.name == name]

    def of_one_module(self, name: str) -> set[str]:
        """All names that are imported from the module that a name is, or comes from."""
        top = self.imported[name].split(".")[0]
        return {other for other, source in self.imported.items() if source.split(".")[0] == top}


def names_of(nodes: Sequence[ast.stmt]) -> Names:
    """What the names that statements bind at the top level stand for."""
    found = Names()
    for node in nodes:
        for each in outside_functions(node):
            if isinstance(each, IMPORTS):
                module = f"{each.module}." if isinstance(each, ast.ImportFrom) and each.module else ""
                for alias in each.names:
                    top = alias.name if module or alias.asname else alias.name.split(".")[0]
                    found.imported[alias.asname or top] = module + top
            elif isinstance(each, ast.FunctionDef):
                found.functions[each.name] = each
            elif isinstance(each, ast.ClassDef):
                found.classes[each.name] = each
            elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                found.values.add(each.id)
    found.values -= found.functions.keys() | found.classes.keys() | found.imported.keys()
    return found


def changed_by(statement: ast.AST, names: Names, but: Collection[str] = ()) -> set[str]:
    """The names whose values a statement changes in place.

    As do X[0] = 1, X.a = 1, X.fill(1), np.copyto(X, 1), and a call of a function of the page that does so to X.

    Args:
        but: functions whose calls change nothing that matters: they change the same in a game.
    """
    found, calls, alone = set[str](), list[ast.Call](), set[int]()
    for decorator in getattr(statement, "decorator_list", ()):
        calls.append(ast.Call(decorator, [], []))  # what it does with the function itself
        calls += [node for node in ast.walk(decorator) if isinstance(node, ast.Call)]
    for node in outside_functions(statement):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(root(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            alone.add(id(node.value))
        if isinstance(node, ast.Call):
            calls.append(node)
    for call in calls:
        found |= _changed_by_call(call, names, but, id(call) in alone)
    for name in found & names.imported.keys():
        found |= names.of_one_module(name)
    return found - {""}


def _changed_by_call(call: ast.Call, names: Names, but: Collection[str], is_alone: bool) -> set[str]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else root(call.func)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    found = set[str]().union(*(_changed_by_given(each, names, but) for each in given))
    if name in CHANGERS and call.args:
        return found | {root(call.args[0])} - names.imported.keys()
    if (function := _of_own_module(call, names)) and _changed_by_function(call, *function, but):
        return found | {root(call.func)}
    if (name in TRAINERS or trains_by_name(name)) and name not in names.functions and not names.methods(name):
        found |= {root(each) for each in given} - names.imported.keys()
    return found | _changed_by_callee(call, name, names, but, is_alone)


def _changed_by_callee(call: ast.Call, name: str, names: Names, but: Collection[str], is_alone: bool) -> set[str]:
    """The names whose values a call changes by what it calls: a method, or a function of the page."""
    if isinstance(call.func, ast.Attribute) and root(call.func) not in names.imported:
        if is_alone or name in TAKERS | TRAINERS or any(_changes_self(each) for each in names.methods(name)):
            made = call.func.value if isinstance(call.func.value, ast.Call) else None  # Trainer(model).train()
            return {root(call.func), *(root(each) for each in (made.args if made else ()))}
    elif isinstance(call.func, ast.Name) and name in names.functions and name not in but:
        return _changed_by_function(call, names.functions[name], names, {*but, name})
    return set()


def _changed_by_given(value: ast.expr, names: Names, but: Collection[str]) -> set[str]:
    """The names whose values change if a call runs what it is given: a function, a method, what can be called."""
    found = set[str]()
    for each in ast.walk(value):
        if isinstance(each, ast.Name) and each.id in names.functions and each.id not in but:
            found |= _changed_by_function(ast.Call(each, [], []), names.functions[each.id], names, {*but, each.id})
        elif isinstance(each, ast.Attribute) and any(map(_changes_self, names.methods(each.attr))):
            found.add(root(each))
        elif (
            isinstance(each, ast.Name)
            and each.id in names.values
            and any(map(_changes_self, names.methods("__call__")))
        ):
            found.add(each.id)
    return found


def _of_own_module(call: ast.Call, names: Names) -> tuple[ast.FunctionDef, Names] | None:
    """The function of a module beside the notebook that a call is of, with what names stand for there."""
    module, _, name = names.qualified(call.func).rpartition(".")
    own = names.modules.get(module)
    return (own.functions[name], own) if own and name in own.functions and root(call.func) in names.imported else None


def trains_by_name(name: str) -> bool:
    """Whether a function that is not the page's own seems to train what it is given."""
    return bool({"train", "fit", "learn", "optimize"} & set(name.lower().split("_")))


def _changes_self(method: ast.FunctionDef) -> bool:
    first = next((each.arg for each in method.args.args), "")
    stores = (each for each in ast.walk(method) if isinstance(each, ast.Attribute | ast.Subscript))
    return any(isinstance(each.ctx, ast.Store) and root(each) == first for each in stores)


def _changed_by_function(call: ast.Call, function: ast.FunctionDef, names: Names, but: Collection[str]) -> set[str]:
    """The names whose values a call of a function changes: arguments, and others of the module."""
    changed = set[str]().union(*(changed_by(each, names, but) for each in function.body))
    reads = reads_of(function)
    parameters = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    given = dict(zip(parameters, call.args, strict=False)) | {
        each.arg: each.value for each in call.keywords if each.arg
    }
    arguments = {root(given[name]) for name in changed & given.keys()}
    inside = _local_names(function)
    return arguments | (changed - inside) | (reads.called)


def _local_names(function: ast.FunctionDef) -> set[str]:
    """The names that a function binds itself, parameters included."""
    shared = {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
    stored = (node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    arguments = (node.arg for node in ast.walk(function) if isinstance(node, ast.arg))
    inner = {node.name for node in ast.walk(function) if isinstance(node, FUNCTIONS | ast.ClassDef)}
    return {*arguments, *(node.id for node in stored), *inner - {function.name}} - shared


def shared_names(nodes: Sequence[ast.stmt], names: Names) -> dict[str, set[str]]:
    """Name -> itself and all others that may lead to the same value: of Y = X, Y = X.a and Y = Holder(X), all.

    What Kaggle's ``make`` gives is left out: its games change nothing that an agent reads of it.
    """
    own = names.values - environments_in(nodes, names)
    group = {name: {name} for name in own}
    for node in nodes:
        for each in outside_functions(node):
            if isinstance(each, ast.Assign | ast.AnnAssign | ast.NamedExpr) and each.value is not None:
                targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                bound = {root(target) for target in targets} | {n for t in targets for n in targets_of(t)}
                _join(group, bound, _held(each.value) & own)
            elif isinstance(each, ast.For | ast.withitem):
                target = each.target if isinstance(each, ast.For) else each.optional_vars
                source = each.iter if isinstance(each, ast.For) else each.context_expr
                _join(group, set(targets_of(target)) if target else set(), _held(source) & own)
    return group


def _join(group: dict[str, set[str]], bound: set[str], held: set[str]) -> None:
    for one in bound & group.keys():
        for other in held:
            if group[one] is not group[other]:
                group[one] |= group[other]
                for name in group[one]:
                    group[name] = group[one]


def environments_in(nodes: Sequence[ast.stmt], names: Names) -> set[str]:
    """The names that Kaggle's ``make`` gives a value."""
    made = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
    made = [node for node in made if MAKERS & {names.qualified(node.value.func)}]  # type: ignore[attr-defined]
    return {name for node in made for target in node.targets for name in targets_of(target)}


def _held(value: ast.expr) -> set[str]:
    """The names whose values may be in an expression's."""
    if isinstance(value, ast.Constant | ast.BinOp | ast.UnaryOp | ast.Compare | ast.JoinedStr | ast.Lambda):
        return set()
    if isinstance(value, ast.Name):
        return {value.id}
    if isinstance(value, ast.Call):
        name = value.func.attr if isinstance(value.func, ast.Attribute) else root(value.func)
        if name in FRESH:
            return set()
    return set[str]().union(*(_held(child) for child in ast.iter_child_nodes(value) if isinstance(child, ast.expr)))


@dataclass
class Need:
    """A needed statement: the points where what it defines may be called, and the names that it is needed for."""

    late: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)


class Slice(NamedTuple):
    """The needed statements by their numbers, and (name, statement that reads it, point) of what none of them binds."""

    needs: dict[int, Need]
    missing: list[tuple[str, Statement, int]]


class Program:
    """Statements in the order in which they run."""

    def __init__(
        self,
        statements: Sequence[Statement],
        but: Collection[str] = (),
        modules: Callable[[str], ast.Module | None] = lambda name: None,
    ):
        """
        Args:
            but: functions whose calls change only what they change in a game, too.
            modules: finds the source of an own module.
        """
        self.statements = statements
        nodes = [each.node for each in statements]
        self.names = names_of(nodes)
        wanted = {top for name in self.names.imported.values() for top in (name, name.rpartition(".")[0]) if top}
        found = {name: tree for name in wanted if (tree := modules(name)) is not None}
        self.names.modules = {name: names_of(tree.body) for name, tree in found.items()}
        shared, environments = shared_names(nodes, self.names), environments_in(nodes, self.names)
        for number, each in enumerate(statements):
            each.number = number
            changed = changed_by(each.node, self.names, but) - environments
            each.changes = frozenset(changed.union(*(shared.get(name, set()) for name in changed)))

    def reach(self, name: str, point: int) -> list[Statement]:
        """The statements before a point that give a name the value that it has there."""
        found, is_imported = list[Statement](), False
        for each in reversed(self.statements[:point]):
            if is_imported:  # the module is the same as before: what changed it stays, and import a.b before import a
                is_import = isinstance(each.node, ast.Import) and name in each.reads.binds
                found += [each] * (is_import or name in each.changes)
            elif name in each.reads.binds or name in each.changes or "*" in each.reads.binds:
                found.append(each)
                if name in each.ends:
                    is_imported = isinstance(each.node, IMPORTS)
                    if not is_imported:
                        break
        return found

    def needed(self, name: str, besides: Collection[Statement] = ()) -> Slice:
        """What a name needs, as of the end, and what other statements need that are wanted for themselves."""
        needs: dict[int, Need] = {}
        missing: dict[tuple[str, int], tuple[str, Statement, int]] = {}
        pending = [(name, END, frozenset({END}), None)]
        for each in (*filter(is_future, self.statements), *besides):
            pending += self._wants(each, "", frozenset(), needs)
        while pending:
            wanted, point, late, reader = pending.pop()
            found = self.reach(wanted, point)
            if not found and reader is not None and point != reader.number:  # of a function that may never be called
                found = self.reach(wanted, END)
            if not found and reader is not None and wanted not in BUILTINS:
                missing.setdefault((wanted, reader.number), (wanted, reader, point))
            for each in found:
                pending += self._wants(each, wanted, late, needs)
        bound = set[str]().union(*(self.statements[number].reads.called for number in needs))
        absent = [each for each in missing.values() if each[0] not in bound and not _binds_itself(*each[:2])]
        return Slice(dict(sorted(needs.items())), absent)

    def _wants(self, each: Statement, name: str, late: frozenset[int], needs: dict[int, Need]) -> list:
        """Notes that a statement is needed; what it reads in turn, as of which point."""
        need = needs.get(each.number)
        is_new = need is None
        need = needs.setdefault(each.number, Need())
        need.names.add(name)
        more = late - need.late
        need.late |= more
        if not more and not is_new:
            return []
        known = frozenset(need.late)
        wants = [(read, each.number, known | {each.number}, each) for read in each.reads.now | (each.changes & {name})]
        return wants + [(read, point, known, each) for point in more for read in each.reads.later]


def _binds_itself(name: str, reader: Statement) -> bool:
    """Whether a statement may bind a name before it reads it, as does ``with open(...) as file: file.read()``."""
    is_simple = isinstance(reader.node, ast.Assign | ast.AnnAssign | ast.AugAssign)
    return name in reader.reads.perhaps or (name in reader.reads.binds and not is_simple)


def is_future(each: Statement) -> bool:
    """Whether a statement imports from __future__."""
    return isinstance(each.node, ast.ImportFrom) and each.node.module == "__future__"


def statements_of(
    code: str, places: Mapping[int, tuple[str, str]] | None = None, before: Sequence[Statement] = ()
) -> list[Statement]:
    """The statements of a source.

    Args:
        places: line -> (place, "cell 16"); "line N" by default.
        before: those of earlier cells.

    Raises:
        SyntaxError: it is no Python.
    """
    body = ast.parse(code).body
    lines, found = code.splitlines(), list[Statement]()
    for number, node in enumerate(body):
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        text = _text_of(lines, first, node)
        own = [(places or {}).get(line, (f"line {line}",) * 2) for line in range(first, first + text.count("\n") + 1)]
        reads = reads_of(node, has_lazy=any(map(is_future, (*before, *found))))
        found.append(Statement(number, node, text, [place for place, _ in own], own[0][1], reads))
    return found


def _text_of(lines: Sequence[str], first: int, node: ast.stmt) -> str:
    """The text of a statement, its decorators included. ast counts columns in bytes."""
    assert node.end_lineno is not None and node.end_col_offset is not None
    own = [*lines[first - 1 : node.end_lineno]]
    own[-1] = own[-1].encode()[: node.end_col_offset].decode()
    if first == node.lineno:
        own[0] = own[0].encode()[node.col_offset :].decode()
    return "\n".join(own)
