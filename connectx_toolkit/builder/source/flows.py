"""Which string literals may become the path in a call: followed through names, attributes, arguments and returns.

Scopes and the order of statements are ignored, so that it finds too many literals rather than too few.
"""

import ast
from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from connectx_toolkit.builder.source.module import Module

Key = tuple[str, str]  # (a module's key, a name in it); ("", name) for attributes and for what other modules may name


class Literal(NamedTuple):
    """A string in the source of ``module``."""

    text: str
    module: Module


class Parameters(NamedTuple):
    """The parameters of a function, less ``self``; the first ``positional`` of them can be given by position."""

    module: Module
    names: list[str]
    positional: int


class Flows:
    """What the names in an agent's modules may hold."""

    def __init__(self, modules: Collection[Module]):
        self._values: dict[Key, list[tuple[Module, ast.expr]]] = defaultdict(list)
        self._functions: dict[str, list[Parameters]] = defaultdict(list)
        self._own = {module.key.split("/")[0].removesuffix(".py") for module in modules}
        nodes = [(module, node) for module in modules for node in module.nodes]
        for module, node in nodes:
            self._read_definition(module, node)
        for module, node in nodes:
            self._read_binding(module, node)

    def literals(self, module: Module, value: ast.expr) -> set[Literal]:
        """Each string literal that may be a part of an expression's value."""
        found, pending, done = set[Literal](), [(module, value)], set[Key]()
        while pending:
            module, value = pending.pop()
            for node in ast.walk(value):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.add(Literal(node.value, module))
                for key in _keys(module, node) - done:
                    done.add(key)
                    pending += self._values.get(key, [])
        return found

    def _read_definition(self, module: Module, node: ast.AST) -> None:
        """Records a function's parameters with their defaults, and what it returns."""
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                    self._functions[node.name].append(_parameters(module, method.args))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._functions[target.id].append(_parameters(module, node.value.args))
        elif isinstance(node, ast.FunctionDef):
            self._functions[node.name].append(_parameters(module, node.args))
            named = [*node.args.posonlyargs, *node.args.args]
            for parameter, default in zip(reversed(named), reversed(node.args.defaults), strict=False):
                self._values[module.key, parameter.arg].append((module, default))
            for inner in ast.walk(node):
                if isinstance(inner, (ast.Return, ast.Yield)) and inner.value is not None:
                    for key in ((module.key, node.name), ("", node.name)):
                        self._values[key].append((module, inner.value))

    def _read_binding(self, module: Module, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(module, target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
            self._bind(module, node.target, node.value)
        elif isinstance(node, (ast.For, ast.comprehension)):
            self._bind(module, node.target, node.iter)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind(module, node.optional_vars, node.context_expr)
        elif isinstance(node, ast.Call):
            self._pass_arguments(module, node)

    def _bind(self, module: Module, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self._bind(module, element, value)
        elif isinstance(target, (ast.Subscript, ast.Starred)):
            self._bind(module, target.value, value)
        elif isinstance(target, ast.Attribute):
            self._values["", target.attr].append((module, value))
        elif isinstance(target, ast.Name):
            self._values[module.key, target.id].append((module, value))
            if id(target) not in module.in_functions:
                self._values["", target.id].append((module, value))

    def _pass_arguments(self, module: Module, call: ast.Call) -> None:
        """Binds the parameters of the agent's own functions of that name to the arguments."""
        dotted = module.qualified(call.func)
        root = dotted.split(".")[0]
        if not dotted or (root in {name.split(".")[0] for name in module.names.values()} and root not in self._own):
            return  # a package's function
        for function in self._functions.get(dotted.rpartition(".")[2], []):
            names = dict(enumerate(function.names[: function.positional]))
            given = [(names.get(place), value) for place, value in enumerate(call.args)]
            for name, value in [*given, *((keyword.arg, keyword.value) for keyword in call.keywords)]:
                if name in function.names:
                    self._values[function.module.key, name].append((module, value))


def _keys(module: Module, node: ast.AST) -> set[Key]:
    if isinstance(node, ast.Attribute):
        return {("", node.attr)}
    if not isinstance(node, ast.Name):
        return set()
    imported = module.names.get(node.id)
    return {(module.key, node.id), *([("", imported.rpartition(".")[2])] if imported else [])}


def _parameters(module: Module, arguments: ast.arguments) -> Parameters:
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    names = names[names[:1] in (["self"], ["cls"]) :]
    return Parameters(module, [*names, *(argument.arg for argument in arguments.kwonlyargs)], len(names))
