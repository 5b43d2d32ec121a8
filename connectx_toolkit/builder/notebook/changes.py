"""What the names of a page stand for, which of them share a value, and whose values a statement changes in place."""

import ast
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from connectx_toolkit.builder.notebook.code_objects import CHANGING
from connectx_toolkit.builder.notebook.reads import (
    BUILTINS,
    FUNCTIONS,
    IMPORTS,
    bound_by_globals,
    outside_functions,
    reads_of,
    root,
    targets_of,
)
from connectx_toolkit.builder.source.text import dotted

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
    methods: those of all classes by their name.
    values: all other names.
    environments: those that Kaggle's ``make`` gives a value.
    modules: own modules -> what their names stand for.
    effects: id of a function or method -> its effects.
    returned: function -> names outside of it whose values may be in what it returns.
    but: functions whose calls have no effect that matters: they have the same in a game.
    """

    imported: dict[str, str] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    methods: dict[str, list[ast.FunctionDef]] = field(default_factory=lambda: defaultdict(list))
    values: set[str] = field(default_factory=set)
    environments: set[str] = field(default_factory=set)
    modules: Mapping[str, "Names"] = field(default_factory=dict)
    effects: dict[int, Effects] = field(default_factory=dict)
    returned: dict[str, set[str]] = field(default_factory=dict)
    but: Collection[str] = ()

    def qualified(self, node: ast.AST) -> str:
        """The dotted name of an expression, by imports: "numpy.random.rand"."""
        return dotted(node, self.imported)

    def called(self, call: ast.Call) -> list[ast.FunctionDef]:
        """The page's functions that a call may run: a function, all methods of that name, __call__ or __init__."""
        name = root(call.func)
        if isinstance(call.func, ast.Attribute):
            return self.methods.get(call.func.attr, []) if name not in self.imported else []
        if name in self.functions:
            return [self.functions[name]]
        if name in self.values:
            return self.methods.get("__call__", []) if name not in self.but else []
        makers = [*self.methods.get("__init__", []), *self.methods.get("__post_init__", [])]
        return [each for each in makers if name in self.classes and each in self.classes[name].body]

    def effect(self, function: ast.FunctionDef) -> Effects:
        """What a call of a function or method of the page changes."""
        return self.effects.get(id(function), NO_EFFECTS)

    def changes_self(self, name: str) -> bool:
        """Whether a method of that name changes what it is of."""
        return any(self.effect(each).parameters & set(_parameters(each)[:1]) for each in self.methods.get(name, ()))

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
    for method in (each for kind in found.classes.values() for each in kind.body):
        if isinstance(method, ast.FunctionDef):
            found.methods[method.name].append(method)
    made = [each for each in nodes if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call)]
    made = [each for each in made if found.qualified(each.value.func) in MAKERS]  # type: ignore[attr-defined]
    found.environments = {name for each in made for target in each.targets for name in targets_of(target)}
    found.values -= found.functions.keys() | found.classes.keys() | found.imported.keys()
    for name, function in found.functions.items():
        returns = (node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value)
        found.returned[name] = set[str]().union(*map(_held, returns)) - _local_names(function)
    return found


def find_effects(names: Names) -> None:
    """Fills ``names.effects``: repeats until no function has a further effect by what it calls."""
    functions = [*names.functions.values(), *chain(*names.methods.values())]
    functions = [each for each in functions if each.name not in names.but]
    own = {
        id(each): (_local_names(each), reads_of(each).called | bound_by_globals(ast.walk(each))) for each in functions
    }
    is_changed = True
    while is_changed:
        is_changed = False
        for each in functions:
            inside, called = own[id(each)]
            changed = set[str]().union(*(changed_by(statement, names) for statement in each.body))
            effects = Effects(frozenset(changed - inside | called), frozenset(changed & set(_parameters(each))))
            is_changed |= effects != names.effect(each)
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
    if (name in TRAINERS or trains_by_name(name)) and name not in names.functions and name not in names.methods:
        found |= {root(each) for each in given} - names.imported.keys()
    return found | _changed_by_callee(call, name, names, is_alone)


def _changed_by_callee(call: ast.Call, name: str, names: Names, is_alone: bool) -> set[str]:
    """The names whose values a call changes by what it calls: a method, a class, or a function of the page."""
    called, function = names.called(call), call.func
    changed = set[str]().union(*(_changed_by_function(call, each, names) for each in called))
    if isinstance(function, ast.Attribute) and root(function) not in names.imported:
        is_changed = names.changes_self(name) if called else is_alone or name in CHANGING | TRAINERS
        made = function.value.args if isinstance(function.value, ast.Call) else ()  # Trainer(model).train()
        changed |= {root(function), *map(root, made)} if is_changed else set()
    elif isinstance(function, ast.Name) and name in names.values and called and names.changes_self("__call__"):
        changed.add(name)
    return changed


def _changed_by_given(value: ast.expr, names: Names) -> set[str]:
    """The names whose values change if a call runs what it is given: a function, a method, what can be called."""
    found = set[str]()
    for each in ast.walk(value):
        if isinstance(each, ast.Name) and each.id in names.functions:
            found |= names.effect(names.functions[each.id]).others
        elif isinstance(each, ast.Attribute) and (each.attr in CHANGING or names.changes_self(each.attr)):
            found |= {root(each)} - BUILTINS
        elif isinstance(each, ast.Name) and each.id in names.values - {*names.but} and names.changes_self("__call__"):
            found.add(each.id)
    return found


def _of_own_module(call: ast.Call, names: Names) -> Effects:
    """The effects of a function of a module beside the notebook that is called."""
    module, _, name = names.qualified(call.func).rpartition(".")
    own = names.modules.get(module)
    if own is None or name not in own.functions or root(call.func) not in names.imported:
        return NO_EFFECTS
    return own.effect(own.functions[name])._replace(parameters=frozenset())


def trains_by_name(name: str) -> bool:
    """Whether a function that is not the page's own seems to train what it is given."""
    return bool({"train", "fit", "learn", "optimize"} & set(name.lower().split("_")))


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


def _changed_by_function(call: ast.Call, function: ast.FunctionDef, names: Names) -> set[str]:
    """The names whose values a call of a function changes: arguments, and others of the module."""
    effects, parameters, defaults = names.effect(function), _parameters(function), function.args.defaults
    skipped = 0 if function is names.functions.get(function.name) else 1  # a call of a method does not give self
    given = dict(zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True))
    given |= dict(zip(parameters[skipped:], call.args, strict=False))
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
    own = names.values - names.environments
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
