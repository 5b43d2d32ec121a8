"""What the names of a page stand for, which of them share a value, and whose values a statement changes in place."""

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from connectx_toolkit.builder.notebook.code_objects import CHANGING
from connectx_toolkit.builder.notebook.reads import (
    BUILTINS,
    FUNCTIONS,
    IMPORTS,
    bound_by_globals,
    dotted,
    outside_functions,
    reads_of,
    root,
    targets_of,
)

CHANGERS = {"copyto", "put", "place", "putmask", "fill_diagonal", "shuffle", "setattr", "heapify", "heappush", "insort"}
TRAINERS = {"learn", "fit", "step", "partial_fit", "fit_generator", "train_on_batch", "train_step", "minimize"}
TRAINERS |= {"optimize", "apply_gradients"}
# Calls whose result has nothing of what they are given, and so is changed without it.
FRESH = {"len", "int", "float", "str", "bool", "sum", "abs", "round", "print", "range", "isinstance", "type", "hash"}
FRESH |= {"repr", "any", "all", "deepcopy", "copy", "item", "tolist", "array", "zeros", "ones"}
MAKERS = {"kaggle_environments.make", "kaggle_environments.core.make"}


class Effects(NamedTuple):
    """What a call of a function changes in place: other names of its module, and which of its parameters."""

    others: frozenset[str] = frozenset()
    parameters: frozenset[str] = frozenset()


NO_EFFECTS = Effects()


@dataclass
class Names:
    """What the names of a page stand for.

    imported: name -> "numpy.random".
    functions, classes: the last of each name.
    values: all other names.
    modules: own modules -> what their names stand for.
    effects: id of a function or method -> its effects.
    returned: function -> names outside of it whose values may be in what it returns.
    but: functions whose calls have no effect that matters: they have the same in a game.
    """

    imported: dict[str, str] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    values: set[str] = field(default_factory=set)
    modules: Mapping[str, "Names"] = field(default_factory=dict)
    effects: dict[int, Effects] = field(default_factory=dict)
    returned: dict[str, set[str]] = field(default_factory=dict)
    but: Collection[str] = ()

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
    for name, function in found.functions.items():
        returns = (node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value)
        found.returned[name] = set[str]().union(*map(_held, returns)) - _local_names(function)
    return found


def find_effects(names: Names) -> None:
    """Fills ``names.effects``: repeats until no function has a further effect by what it calls."""
    methods = (each for kind in names.classes.values() for each in kind.body if isinstance(each, ast.FunctionDef))
    functions = [each for each in (*names.functions.values(), *methods) if each.name not in names.but]
    own = {
        id(each): (_local_names(each), reads_of(each).called, bound_by_globals(ast.walk(each))) for each in functions
    }
    is_changed = True
    while is_changed:
        is_changed = False
        for each in functions:
            inside, called, by_globals = own[id(each)]
            changed = set[str]().union(*(changed_by(statement, names) for statement in each.body))
            others = frozenset(changed - inside | called | by_globals)
            effects = Effects(others, frozenset(changed & set(_parameters(each))))
            is_changed |= effects != names.effects.get(id(each), NO_EFFECTS)
            names.effects[id(each)] = effects


def changed_by(statement: ast.AST, names: Names) -> set[str]:
    """The names whose values a statement changes in place.

    As do X[0] = 1, X.a = 1, X.fill(1), np.copyto(X, 1), and a call of a function of the page that does so to X.
    """
    found, calls, alone = set[str](), list[ast.Call](), set[int]()
    for decorator in getattr(statement, "decorator_list", ()):
        calls.append(ast.Call(decorator, [], []))  # what it does with the function itself
        calls += [node for node in ast.walk(decorator) if isinstance(node, ast.Call)]
    for node in outside_functions(statement):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            found |= _owners(node, names)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            alone.add(id(node.value))
        if isinstance(node, ast.Call):
            calls.append(node)
    for call in calls:
        found |= _changed_by_call(call, names, id(call) in alone)
    for name in found & names.imported.keys():
        found |= names.of_one_module(name)
    return found - {""}


def _owners(node: ast.expr, names: Names) -> set[str]:
    """The names X whose values X[0], X.a, X.get()[0], vars(X)["a"] and f()[0], where f returns X, are part of."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Call):
        return {root(node)}
    owners = set[str]().union(*(_owners(each, names) for each in (node.func, *node.args)))
    return owners - names.imported.keys() - BUILTINS | names.returned.get(root(node.func), set())


def _changed_by_call(call: ast.Call, names: Names, is_alone: bool) -> set[str]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else root(call.func)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    found = set[str]().union(*(_changed_by_given(each, names) for each in given))
    if name in CHANGERS and call.args:
        return found | {root(call.args[0])} - names.imported.keys()
    if _of_own_module(call, names) != NO_EFFECTS:
        return found | {root(call.func)}
    if (name in TRAINERS or trains_by_name(name)) and name not in names.functions and not names.methods(name):
        found |= {root(each) for each in given} - names.imported.keys()
    return found | _changed_by_callee(call, name, names, is_alone)


def _changed_by_callee(call: ast.Call, name: str, names: Names, is_alone: bool) -> set[str]:
    """The names whose values a call changes by what it calls: a method, a class, or a function of the page."""
    if isinstance(call.func, ast.Attribute) and root(call.func) not in names.imported:
        made = call.func.value if isinstance(call.func.value, ast.Call) else None  # Trainer(model).train()
        owners = {root(call.func), *(root(each) for each in (made.args if made else ()))}
        if methods := names.methods(name):
            changed = set[str]().union(*(_changed_by_function(call, each, names, 1) for each in methods))
            return changed | (owners if any(_changes_self(each, names) for each in methods) else set())
        return owners if is_alone or name in CHANGING | TRAINERS else set()
    if isinstance(call.func, ast.Name) and name in names.functions:
        return _changed_by_function(call, names.functions[name], names)
    if isinstance(call.func, ast.Name) and name in names.classes:
        makers = [each for each in names.methods("__init__") if each in names.classes[name].body]
        return set[str]().union(*(_changed_by_function(call, each, names, 1) for each in makers))
    if isinstance(call.func, ast.Name) and name in names.values - {*names.but}:
        callers = names.methods("__call__")
        changed = set[str]().union(*(_changed_by_function(call, each, names, 1) for each in callers))
        return changed | ({name} if any(_changes_self(each, names) for each in callers) else set())
    return set()


def _changed_by_given(value: ast.expr, names: Names) -> set[str]:
    """The names whose values change if a call runs what it is given: a function, a method, what can be called."""
    found = set[str]()
    for each in ast.walk(value):
        if isinstance(each, ast.Name) and each.id in names.functions:
            found |= names.effects.get(id(names.functions[each.id]), NO_EFFECTS).others
        elif isinstance(each, ast.Attribute):
            changes = each.attr in CHANGING or any(_changes_self(one, names) for one in names.methods(each.attr))
            found |= {root(each)} - BUILTINS if changes else set()
        elif isinstance(each, ast.Name) and each.id in names.values - {*names.but}:
            found |= {each.id} if any(_changes_self(method, names) for method in names.methods("__call__")) else set()
    return found


def _of_own_module(call: ast.Call, names: Names) -> Effects:
    """The effects of a function of a module beside the notebook that is called."""
    module, _, name = names.qualified(call.func).rpartition(".")
    own = names.modules.get(module)
    if own is None or name not in own.functions or root(call.func) not in names.imported:
        return NO_EFFECTS
    return own.effects.get(id(own.functions[name]), NO_EFFECTS)._replace(parameters=frozenset())


def trains_by_name(name: str) -> bool:
    """Whether a function that is not the page's own seems to train what it is given."""
    return bool({"train", "fit", "learn", "optimize"} & set(name.lower().split("_")))


def _changes_self(method: ast.FunctionDef, names: Names) -> bool:
    return bool(names.effects.get(id(method), NO_EFFECTS).parameters & set(_parameters(method)[:1]))


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


def _changed_by_function(call: ast.Call, function: ast.FunctionDef, names: Names, skipped: int = 0) -> set[str]:
    """The names whose values a call of a function changes: arguments, and others of the module.

    Args:
        skipped: how many parameters the call does not give: 1 for a method.
    """
    effects = names.effects.get(id(function), NO_EFFECTS)
    named = [*function.args.posonlyargs, *function.args.args]
    defaults = function.args.defaults
    given = {each.arg: value for each, value in zip(named[len(named) - len(defaults) :], defaults, strict=True)}
    given |= dict(zip(_parameters(function)[skipped:], call.args, strict=False))
    given |= {each.arg: each.value for each in call.keywords if each.arg}
    return {root(given[name]) for name in effects.parameters & given.keys()} | effects.others


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
    made = list[tuple[set[str], set[str]]]()
    for node in nodes:
        for each in outside_functions(node):
            if isinstance(each, ast.Assign | ast.AnnAssign | ast.NamedExpr) and each.value is not None:
                targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                bound = {root(target) for target in targets} | {n for t in targets for n in targets_of(t)}
                held = _held(each.value)
                held |= set[str]().union(*(names.returned.get(name, set()) for name in held))
                _join(group, bound, (held | bound if len(targets) > 1 else held) & own)
                made.append((bound & own, held))
            elif isinstance(each, ast.For | ast.withitem):
                target = each.target if isinstance(each, ast.For) else each.optional_vars
                source = each.iter if isinstance(each, ast.For) else each.context_expr
                _join(group, set(targets_of(target)) if target else set(), _held(source) & own)
    for name in names.classes:  # what is done to a class its instances have, though not the other way round
        group[name] = {name}.union(*(group[one] for bound, held in made if name in held for one in bound))
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
