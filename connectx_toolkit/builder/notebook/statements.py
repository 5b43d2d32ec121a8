"""Splits a notebook's code into statements, with the place and the names of each."""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from connectx_toolkit.builder.notebook.reads import DEFINITIONS, IMPORTS, Reads, outside_functions, reads_of, root_name
from connectx_toolkit.builder.source.old_numpy import SET_AGAIN, old_names_in, restoring_code
from connectx_toolkit.builder.source.text import Text, dotted_name, first_line


@dataclass
class Statement:
    """A statement at the top level. ``places``: "lesson.ipynb, cell 16, line 3" of each of its lines."""

    number: int
    node: ast.stmt
    text: str
    places: list[str]
    reads: Reads

    @property
    def is_plain(self) -> bool:
        """Whether it only defines something, and so changes nothing."""
        is_decorated = bool(getattr(self.node, "decorator_list", ()))
        return isinstance(self.node, IMPORTS | DEFINITIONS) and not is_decorated


@dataclass
class Names:
    """What names at the top level stand for: what is imported, functions by their last definition, environments."""

    imported: dict[str, str] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    environments: set[str] = field(default_factory=set)

    def full_name(self, node: ast.AST) -> str:
        return dotted_name(node, self.imported)


def imports_of(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """What imports bind: "np" -> "numpy"."""
    imported = dict[str, str]()
    for each in nodes:
        module = f"{each.module}." if isinstance(each, ast.ImportFrom) and each.module else ""
        for alias in each.names if isinstance(each, IMPORTS) else ():
            top = alias.name if module or alias.asname else alias.name.split(".")[0]
            imported[alias.asname or top] = module + top
    return imported


def names_of(nodes: Sequence[ast.stmt]) -> Names:
    names = Names()
    inner = [each for node in nodes for each in outside_functions(node)]
    names.imported |= imports_of(inner)
    for each in inner:
        if isinstance(each, ast.FunctionDef):
            names.functions[each.name] = each
        elif isinstance(each, ast.Assign) and isinstance(each.value, ast.Call):
            is_made = names.full_name(each.value.func).startswith("kaggle_environments.")
            names.environments |= {root_name(target) for target in each.targets} if is_made else set()
    return names


def statements_of(code: str, places: Sequence[str] = (), before: Sequence[Statement] = ()) -> list[Statement]:
    """Those of a source. ``places``: of its lines; ``before``: the statements that run before."""
    source, statements = Text(code), list[Statement]()
    for node in ast.parse(code).body:
        first = first_line(node)
        text = code[source.offset(first) if first < node.lineno else source.span(node)[0] : source.span(node)[1]]
        reads = reads_of(node, has_lazy=any(is_future(each.node) for each in (*before, *statements)))
        own = list(places[first - 1 : node.end_lineno])
        statements.append(Statement(len(before) + len(statements), node, text, own, reads))
    return statements


def given_again(statements: Iterable[Statement]) -> tuple[str, list[str]]:
    """Code that gives numpy the old names which statements use, "" if they use none; and where each is used."""
    where, own = dict[str, str](), [*statements]
    imported = imports_of(inner for each in own for inner in ast.walk(each.node))
    for each in own:
        for name, node in old_names_in(ast.walk(each.node), imported):
            line = getattr(node, "lineno", 0) - first_line(each.node)
            where.setdefault(name, each.places[min(line, len(each.places) - 1)])
    return restoring_code(where), [f"{where[name]}: {SET_AGAIN.format(name)}" for name in sorted(where)]


def is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
