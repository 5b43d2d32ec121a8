"""In which order a source binds its names: Kaggle takes the last callable in that order as the agent."""

import ast
from collections.abc import Iterable, Iterator, Sequence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
HOLDERS = ast.ExceptHandler | ast.match_case  # parts of a statement that hold others
Binding = tuple[str, ast.stmt, str]  # name, statement, kind


def first_bindings(tree: ast.Module) -> list[tuple[str, int, str]]:
    """(name, line, kind) of top-level names in the order of their first binding, which Kaggle's loader goes by.

    The kind is "function", "class", "import" or "value". Both branches of an ``if`` count, except those that a
    submission never runs: ``if __name__ == "__main__"``.
    """
    found: dict[str, tuple[int, str]] = {}
    for name, node, kind in _bindings(tree.body):
        if kind == "deleted":
            found.pop(name, None)
        else:
            found.setdefault(name, (node.lineno, kind))
    return [(name, line, kind) for name, (line, kind) in found.items()]


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


def meant_name(names: Sequence[str]) -> str:
    """Which of a file's functions its author means, of their names in the order of their first binding.

    It is ``agent`` if there is one, otherwise the last, which is the one that Kaggle takes in any case.
    """
    return "agent" if "agent" in names else names[-1]


def agent_in(tree: ast.Module) -> str:
    """The name of the function that is the agent: ``agent`` if the source binds it, else its last; "" without any."""
    names = [name for name, _, kind in first_bindings(tree) if kind == "function" or name == "agent"]
    return meant_name(names) if names else ""
