"""What a function or class needs of a file's or a notebook's statements, and nothing else of them.

A statement is needed if it binds a name that is needed, or changes its value in place. What a function reads counts as
of the place where it is called: in a game, that is the end. Of several definitions of a name, those that a needed
statement can meet are taken, which is mostly the last. Nothing is run.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from connectx_toolkit.builder.notebook.changes import changed_by, find_effects, names_of, shared_names
from connectx_toolkit.builder.notebook.reads import (
    BUILTINS,
    FUNCTIONS,
    IMPORTS,
    Reads,
    outside_functions,
    reads_of,
    root,
    targets_of,
)
from connectx_toolkit.builder.source.text import Text, first_line

END = 10**9  # the point where games are played


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
        self._found: dict[str, list[int]] = defaultdict(list)  # name -> the statements that bind or change it
        nodes = [each.node for each in statements]
        self.names = names_of(nodes)
        wanted = {top for name in self.names.imported.values() for top in (name, name.rpartition(".")[0]) if top}
        found = {name: tree for name in wanted if (tree := modules(name)) is not None}
        self.names.modules = {name: names_of(tree.body) for name, tree in found.items()}
        self.names.but = but
        for names in (*self.names.modules.values(), self.names):
            find_effects(names)
        shared = shared_names(nodes, self.names)
        for number, each in enumerate(statements):
            each.number = number
            changed = changed_by(each.node, self.names) - self.names.environments
            added = (node for node in outside_functions(each.node) if isinstance(node, ast.AugAssign))
            changed |= {root(node.target) for node in added} - {""}
            each.changes = frozenset(changed.union(*(shared.get(name, set()) for name in changed)))
            for name in each.reads.binds | each.changes:
                self._found[name].append(number)

    def reach(self, name: str, point: int) -> list[Statement]:
        """The statements before a point that give a name the value that it has there."""
        found, is_imported = list[Statement](), False
        numbers = sorted({*self._found.get(name, ()), *self._found.get("*", ())})
        for each in (self.statements[number] for number in reversed(numbers) if number < point):
            if is_imported:  # the module is the same as before: what changed it stays, and import a.b before import a
                is_import = isinstance(each.node, ast.Import) and name in each.reads.binds
                found += [each] * (is_import or name in each.changes)
            elif {name, "*"} & (each.reads.binds | each.changes):
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
    source, found = Text(code), list[Statement]()
    for number, node in enumerate(ast.parse(code).body):
        first = first_line(node)
        text = code[source.offset(first) if first < node.lineno else source.span(node)[0] : source.span(node)[1]]
        own = [(places or {}).get(line, (f"line {line}",) * 2) for line in range(first, first + text.count("\n") + 1)]
        reads = reads_of(node, has_lazy=any(map(is_future, (*before, *found))))
        found.append(Statement(number, node, text, [place for place, _ in own], own[0][1], reads))
    return found
