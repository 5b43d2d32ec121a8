"""Which values of a page cannot be had by running their statements again: trained, drawn, played or typed ones."""

import ast
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from connectx_toolkit.builder.notebook.cells import SHELL
from connectx_toolkit.builder.notebook.changes import TRAINERS, changed_by, trains_by_name
from connectx_toolkit.builder.notebook.reads import BUILTINS, outside_functions, root, run_at_once
from connectx_toolkit.builder.notebook.slicer import Program, Slice, Statement

SOURCES_OF_DRAWS = ("random", "numpy.random", "torch.random", "secrets")
SEEDED = {"Random", "default_rng", "RandomState", "Generator", "SeedSequence", "PCG64", "manual_seed", "seed"}
TORCH_DRAWS = {"rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "rand_like", "randn_like"}
LOADERS = {"load_state_dict", "load_weights", "set_weights", "set_parameters", "load_checkpoint"}
GAMES = {"kaggle_environments.evaluate", "kaggle_environments.core.evaluate"}
TYPED = {"input", "getpass.getpass"}
CURE = "values are not in the notebook's text; build({}) in the notebook carries them"
# Methods that give the same each time, of containers, texts and arrays; and of a network those that learn nothing.
_KINDS = (list, dict, set, str, bytes, tuple, deque, int, float, np.ndarray)
METHODS = {name for kind in _KINDS for name in dir(kind) if not name.startswith("_")}
METHODS |= {"eval", "load_state_dict", "to", "cpu", "half", "double", "requires_grad_", "load_weights", "compile"}
PURE = {"math", "numpy", "itertools", "functools", "collections", "copy", "operator"}
PURE |= {"heapq", "bisect", "string", "json"}
IMPURE_BUILTINS = {"open", "input", "exec", "eval", "__import__", "compile", "globals", "vars"}


class Doubt(NamedTuple):
    """Why a value is another one if its statements run again."""

    kind: str  # "trained", "drawn at random", "made of games", "given" or "changed"
    call: str  # "model.learn(...)"


class Judge:
    """Looks for what does not repeat in the statements of a page, and in the page's functions that they call."""

    def __init__(self, program: Program, entry: str):
        self.program, self.names, self.entry = program, program.names, entry
        self.generators = set(self._generators(each.node for each in program.statements))

    def refusals(self, found: Slice) -> list[tuple[Statement, str]]:
        """Each statement that cannot be run again for the value that it gives, with the reason; one for each value."""
        refused: dict[str, tuple[Statement, Doubt]] = {}
        for number, need in found.needs.items():
            each = self.program.statements[number]
            if need.names - {""} and not isinstance(each.node, ast.Import | ast.ImportFrom):
                doubt, name = self.doubt(each, need.names, found), min(need.names - {""})
                if doubt is not None and (name not in refused or doubt.kind == "trained"):
                    refused[name] = (each, doubt)
        return [(each, self._words(name, each, doubt)) for name, (each, doubt) in refused.items()]

    def _words(self, name: str, at: Statement, doubt: Doubt) -> str:
        first = next((each for each in self.program.statements if name in each.reads.binds), at)
        origin = "" if first.where == at.where else f" ({first.where})"
        return f"{name}{origin} is {doubt.kind} in {at.where} by {doubt.call}: {CURE.format(self.entry)}"

    def doubt(self, each: Statement, names: Collection[str], found: Slice) -> Doubt | None:
        """What does not repeat in a statement that is needed for some names."""
        for call, local in self._calls(run_at_once(each.node)):
            is_drawn = self._is_network(call) and not self._loads_weights(found)
            if doubt := Doubt("drawn at random", _shown(call)) if is_drawn else self._of_call(call, local):
                return doubt
        for node in run_at_once(each.node):
            if isinstance(node, ast.Name) and node.id in (SHELL, "exec", "globals"):
                return Doubt("given", "a command" if node.id == SHELL else f"{node.id}()")
            if isinstance(node, ast.Await):
                return Doubt("given", ast.unparse(node)[:60])
        return (
            Doubt("given", "globals()") if "*" in each.changes else self._filling(each, set(names) - each.reads.binds)
        )

    def _calls(self, nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.Call, Collection[str]]]:
        """The calls among nodes and in all functions that they call, each with its function's seeded generators."""
        pending = [(node, frozenset[str]()) for node in nodes if isinstance(node, ast.Call)][::-1]
        done = set[int]()
        while pending:
            call, local = pending.pop()
            yield call, local
            for function in self.names.called(call):
                if id(function) not in done and function.name != self.entry:
                    done.add(id(function))
                    own = frozenset(self._generators(ast.walk(function), is_seeded=True))
                    inside = (node for statement in function.body for node in run_at_once(statement))
                    pending += [(node, own) for node in inside if isinstance(node, ast.Call)][::-1]

    def _generators(self, nodes: Iterable[ast.AST], is_seeded: bool = False) -> Iterator[str]:
        """The names that assignments among nodes give generators of random numbers."""
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(made := node.value, ast.Call):
                is_generator = self.names.qualified(made.func).split(".")[-1] in SEEDED
                if is_generator and (made.args or not is_seeded):
                    yield from map(root, node.targets)

    def _of_call(self, call: ast.Call, local: Collection[str]) -> Doubt | None:
        name, shown = self.names.qualified(call.func), _shown(call)
        last = call.func.attr if isinstance(call.func, ast.Attribute) else name.rpartition(".")[2]
        module = name.rpartition(".")[0]
        is_method = isinstance(call.func, ast.Attribute) and root(call.func) not in self.names.imported
        if is_method and last in TRAINERS and last not in self.names.methods:
            return Doubt("trained", shown)
        if trains_by_name(last) and not is_method and not self.names.called(call):
            return Doubt("trained", shown)
        is_draw = module in SOURCES_OF_DRAWS or (module == "torch" and last in TORCH_DRAWS)
        is_draw |= module.startswith("torch.nn.init")
        if is_draw and last not in SEEDED:
            return Doubt("drawn at random", shown)
        if root(call.func) in self.generators and root(call.func) not in local and "." in name:
            return Doubt("drawn at random", shown)
        if name in GAMES or (last == "run" and root(call.func) in self.names.environments):
            return Doubt("made of games", shown)
        return Doubt("given", shown) if name in TYPED or name.startswith("get_ipython") else None

    def _loads_weights(self, found: Slice) -> bool:
        """Whether some needed statement gives a network other weights than the first ones, which are drawn."""
        nodes = (node for number in found.needs for node in ast.walk(self.program.statements[number].node))
        return any(isinstance(node, ast.Attribute) and node.attr in LOADERS for node in nodes)

    def _is_network(self, call: ast.Call) -> bool:
        kind = self.names.classes.get(root(call.func))
        if kind is not None and isinstance(call.func, ast.Name):
            return any(self.names.qualified(base).split(".")[-1] in ("Module", "Model") for base in kind.bases)
        return self.names.qualified(call.func).startswith(("torch.nn.", "tensorflow.keras.", "keras."))

    def _filling(self, each: Statement, names: Collection[str]) -> Doubt | None:
        """A call that changes a needed value, if it may do so otherwise the next time."""
        for node in outside_functions(each.node):
            if isinstance(node, ast.Call) and not self._repeats(node):
                changed = changed_by(ast.Expr(node), self.names)
                if changed & {*names, *each.changes}:
                    return Doubt("changed", _shown(node))
        return None

    def _repeats(self, call: ast.Call) -> bool:
        """Whether a call is known to do the same each time."""
        return all(self.names.called(each) or self._is_known(each) for each, _ in self._calls([call]))

    def _is_known(self, call: ast.Call) -> bool:
        name, first = self.names.qualified(call.func), root(call.func)
        if first in self.names.imported:
            return name.split(".")[0] in PURE and ".random" not in name
        if isinstance(call.func, ast.Attribute):
            return call.func.attr in METHODS
        return first in self.names.classes or (first in BUILTINS and first not in IMPURE_BUILTINS)


def _shown(call: ast.Call) -> str:
    text = f"{ast.unparse(call.func)}({'...' if call.args or call.keywords else ''})"
    return text if len(text) < 60 else f"{text[:57]}..."
