"""Which function of a source is the agent, where nobody names it: one rule for files, notebooks and the pre-flight.

Kaggle's own rule is another one: it takes the callable whose name was bound last. Where the two differ, the pre-flight
says so.

A function is a candidate if it takes what Kaggle passes. Functions of (obs, config) come before those of obs alone, and
a helper that another candidate calls is none. Of several candidates, one called ``agent`` is the agent; else one that
the source itself lets play, by ``env.run`` or ``evaluate``; else the last one.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
HOLDERS = ast.ExceptHandler | ast.match_case  # parts of a statement that hold others
Binding = tuple[str, ast.stmt, str]  # name, statement, kind


def first_bindings(tree: ast.Module) -> list[tuple[str, int, str]]:
    """(name, line, kind) of top-level names in the order of their first binding, which Kaggle's loader goes by.

    The kind is "function", "class", "import" or "value". Both branches of an ``if`` count, except those that a
    submission never runs: ``if __name__ == "__main__"``.
    """
    bindings: dict[str, tuple[int, str]] = {}
    for name, node, kind in _bindings(tree.body):
        if kind == "deleted":
            bindings.pop(name, None)
        else:
            bindings.setdefault(name, (node.lineno, kind))
    return [(name, line, kind) for name, (line, kind) in bindings.items()]


def _bindings(statements: Iterable[ast.stmt]) -> Iterator[Binding]:
    for node in statements:
        if isinstance(node, FUNCTIONS):
            yield node.name, node, "function"
        elif isinstance(node, ast.ClassDef):
            yield node.name, node, "class"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name.split(".")[0], node, "import") for alias in node.names)
        elif isinstance(node, ast.If) and is_main_test(node):
            yield from _bindings(node.orelse)
        else:
            yield from _bindings_inside(node)


def is_main_test(node: ast.AST) -> bool:
    """Whether it is ``if __name__ == "__main__"``, below which nothing runs on Kaggle."""
    tests = ("__name__ == '__main__'", "'__main__' == __name__")
    return isinstance(node, ast.If) and ast.unparse(node.test) in tests


def _bindings_inside(node: ast.stmt) -> Iterator[Binding]:
    """Those of a statement that is no definition: of its expressions first, then of its blocks in their order."""
    blocks = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt | HOLDERS)]
    for part in ast.iter_child_nodes(node):
        for name in [] if part in blocks else ast.walk(part):
            if isinstance(name, ast.Name) and not isinstance(name.ctx, ast.Load):
                yield name.id, node, "value" if isinstance(name.ctx, ast.Store) else "deleted"
    for block in blocks:
        yield from _bindings(block.body if isinstance(block, HOLDERS) else [block])


Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
PLAYS = ("run", "evaluate", "get_win_percentages")  # functions that let agents play, by the last part of their names


def agent_arguments(function: Function) -> int:
    """How many of (obs, config) a function names as Kaggle passes them; 0 if it cannot be an agent."""
    arguments = function.args
    every = [each.arg.lower() for each in (*arguments.posonlyargs, *arguments.args)]
    required = len(every) - len(arguments.defaults)
    if not every or required > 2 or None in arguments.kw_defaults:
        return 0
    is_pair = len(every) > 1 and every[1].startswith(("conf", "cfg"))
    if every[0].startswith("obs") or (every[0] in ("state", "board_state") and is_pair):
        return 2 if is_pair else int(len(every) == 1)
    return 0


def agent_candidates(statements: Sequence[ast.stmt]) -> list[str]:
    """The functions that may be the agent, in the order of their first binding."""
    every = _functions_by_name(statements)
    if "agent" in every:
        return ["agent"]
    functions = {name: function for name, function in every.items() if agent_arguments(function)}
    most = max(map(agent_arguments, functions.values()), default=0)
    functions = {name: function for name, function in functions.items() if agent_arguments(function) == most}
    bodies = {name: node for name, node, kind in _bindings(statements) if kind in ("function", "class")}
    called = {name: _names_reached(function, bodies, functions.keys() - {name}) for name, function in functions.items()}
    own = [name for name in functions if not any(name in called[other] for other in functions if other != name)]
    return own or list(functions)  # each may call another


def suggest_agent(statements: Sequence[ast.stmt], among: Sequence[str]) -> str:
    """Which of the candidates is the agent, if it has to be one."""
    playing = {
        name.id
        for statement in statements
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in PLAYS
        for given in (*call.args, *(keyword.value for keyword in call.keywords))
        for name in ast.walk(given)
        if isinstance(name, ast.Name)
    }
    return ([name for name in among if name in playing] or [*among])[-1]


def agent_in(tree: ast.Module) -> str:
    """The name of the function that is the agent of a source; "" if it defines none.

    Where no function takes (obs, config) by name, it is Kaggle's: the last one.
    """
    names = [name for name, _, kind in first_bindings(tree) if kind == "function" or name == "agent"]
    if not names or "agent" in names:
        return "agent" if names else ""
    functions, agents = _functions_by_name(tree.body), agent_candidates(tree.body)
    last = functions.get(names[-1])
    if agents and (agent_arguments(functions[agents[0]]) == 2 or last is None or not _may_take_two(last)):
        return suggest_agent(tree.body, agents)
    return names[-1]


def meant_agent(tree: ast.Module, taken: str, fails: bool) -> ast.FunctionDef | None:
    """The function that the author probably meant, if Kaggle takes another callable; None if that may be right.

    A taken function with parameters that uses a candidate is a wrapper, and right; if the game fails, only one that
    passes them on is: others play games with it. A function whose name says nothing of an agent counts only if the game
    fails, because helpers often have an agent's arguments, too.
    """
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    name, mine = agent_in(tree), functions.get(taken)
    agents = {each for each, function in functions.items() if agent_arguments(function)}
    if name == taken or (mine is not None and _is_wrapper(mine, agents, fails)):
        return None
    return functions.get(name) if fails or "agent" in name.lower() else None


def _functions_by_name(statements: Iterable[ast.stmt]) -> dict[str, Function]:
    """The functions of a source by name, also those of a lambda; as they are bound last."""
    functions: dict[str, Function] = {}
    for name, node, kind in _bindings(statements):
        if kind == "deleted":
            functions.pop(name, None)
        elif isinstance(node, FUNCTIONS):
            functions[name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Lambda):
            functions[name] = node.value
    return functions


def _names_reached(function: ast.AST, bodies: dict[str, ast.stmt], ends: Iterable[str]) -> set[str]:
    """The names that a function uses, itself or by functions and classes of the source; of ``ends`` no further."""
    reached: set[str] = set()
    left = [function]
    while left:
        new = _names_in(left.pop()) - reached
        reached |= new
        left += [bodies[name] for name in new if name in bodies and name not in ends]
    return reached


def _may_take_two(function: Function) -> bool:
    arguments = function.args
    return len(arguments.posonlyargs) + len(arguments.args) == 2 or arguments.vararg is not None


def _is_wrapper(function: ast.FunctionDef, agents: set[str], passes_on: bool) -> bool:
    """Whether a function, which has parameters, uses an agent; with ``passes_on``, by a call with one of these."""
    parameters = {argument.arg for argument in (*function.args.args, function.args.vararg) if argument}
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and _names_in(node.func) & agents]
    if passes_on:
        return any(_names_in(argument) & parameters for call in calls for argument in call.args)
    return bool(parameters) and bool(_names_in(function) & agents)


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
