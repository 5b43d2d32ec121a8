"""Writes what a running function needs as a file: source of what ran for code, values as they are now.

A ``Writer`` follows the names that the function's code object reads. Functions and classes come before values, and
whatever runs as the file is loaded (a decorator, a default, the body of a class) comes before that.
"""

import ast
import difflib
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from connectx_toolkit.builder.notebook.carrying import ANEW, NAMED, Uncarried, Values, literal, type_name
from connectx_toolkit.builder.notebook.code_objects import Names, is_opaque, names_in, read_by, touches
from connectx_toolkit.builder.notebook.imports import imports_in, is_builtin, own_file, place_of
from connectx_toolkit.builder.notebook.page import ONLY_THERE
from connectx_toolkit.builder.notebook.ran import Cell, Definition, bindings_of
from connectx_toolkit.builder.notebook.reads import BUILTINS, DUNDERS
from connectx_toolkit.builder.notebook.written import AGENT
from connectx_toolkit.builder.source.refusals import Refusal, Refused

# Of these, equal ones are as good as the same.
UNNAMED: Any = int | float | complex | str | bytes | tuple | frozenset | type(None)
CARRIED = "_carried"


class Known(NamedTuple):
    """What an earlier pass has found: a later one writes no less."""

    attributes: frozenset[str] = frozenset()
    is_opaque: bool = False
    shared: frozenset[int] = frozenset()  # ids of mutable values that several hold
    changed: frozenset[str] = frozenset()  # names that the agent's code binds or changes as it plays
    nodes: tuple[ast.AST, ...] = ()  # the functions that are reached


class Part(NamedTuple):
    """Lines of the file, and the cell and line that those after the first ``above`` come from."""

    text: str
    cell: Cell | None = None
    line: int = 0
    above: int = 0


@dataclass
class Writer:
    """One pass over what a function needs.

    main: the names of the notebook or script. who: the agent's name for people.
    """

    main: dict[str, Any]
    who: str
    cells: list[Cell]
    known: Known
    imports: dict[str, None] = field(default_factory=dict)
    definitions: list[Part] = field(default_factory=list)
    values: dict[str, Part] = field(default_factory=dict)
    settings: list[Part] = field(default_factory=list)
    modules: set[ModuleType] = field(default_factory=set)
    notes: dict[str, None] = field(default_factory=dict)
    restarts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bound: dict[str, Any] = {}
        self.names_by_id: dict[int, str] = {}
        self.attributes, self.changed = set(self.known.attributes), set(self.known.changed)
        self.nodes: list[ast.AST] = []
        self.is_opaque = self.known.is_opaque
        self.is_early = False
        self.visits: Counter[int] = Counter()
        self.carried = Values(self.name_of, self._keeps, self.attributes.add, self.note)
        self._queue: list[tuple[str, dict[str, Any], str]] = []
        self.ready: set[str] = set()  # names whose own names are written before what comes next
        self.unfinished: set[int] = set()  # ids of functions that are being written, with what they hold
        self._aliases: dict[str, str] = {}
        self._imports = imports_in(self.cells)

    def note(self, text: str) -> None:
        self.notes.setdefault(text)

    def refuse(self, place: str, reason: str) -> Refused:
        return Refused([Refusal(Path(AGENT), 1, reason, place)])

    def run(self) -> None:
        """Writes all that is still owed."""
        while self._queue or self.reach_methods():
            while self._queue:
                self.need(*self._queue.pop(0))

    def found(self) -> Known:
        counts = self.visits + Counter(self.carried.visits)
        shared = frozenset(number for number, count in counts.items() if count > 1)
        return Known(
            frozenset(self.attributes),
            self.is_opaque,
            self.known.shared | shared,
            frozenset(self.changed),
            tuple(self.nodes),
        )

    def need(self, name: str, names: dict[str, Any], place: str) -> None:
        """Binds a name of the module in the file, before what runs as it is loaded if ``is_early``."""
        if name in DUNDERS or (name not in names and name in BUILTINS - ONLY_THERE):
            return
        if name not in names and name in self.changed and not self.is_early:
            self.note(f"{name} is bound as {self.who} plays: every game starts without it")
            self.restarts[name] = f"globals().pop({name!r}, None)\n"
            return
        if name not in names:
            close = difflib.get_close_matches(name, [*names], 1)
            meant = f"did you mean {close[0]}? " if close else ""
            if name in ONLY_THERE:
                meant = "Kaggle runs it without IPython: leave that out. "
            raise self.refuse(
                place,
                f"{self.who} reads {name}, which no cell defines now: {meant}Define it, or run the cell that does",
            )
        value = names[name]
        if name in self.bound:
            if self.bound[name] is not value and not (literal(value) and literal(value) == literal(self.bound[name])):
                raise self.refuse(
                    place, f"{name} means two things, here and in a module that {self.who} uses: rename one"
                )
            self._hoist(name)
            return
        self.bound[name] = value
        self._bind(name, value, place)

    def _hoist(self, name: str) -> None:
        """Writes what a bound name needs at once, where something that runs at the load needs it."""
        if not self.is_early or name in self.ready:
            return
        self.ready.add(name)
        value = self.bound[name]
        self.define_early(value)
        if name in self._aliases:
            self._hoist(self._aliases[name])
        if name in self.values:
            self.definitions.append(self.values.pop(name))

    def early(self, names: set[str] | frozenset[str], of: dict[str, Any], place: str) -> None:
        """Binds names that are read as the file is loaded, and all that these read."""
        was, self.is_early = self.is_early, True
        for name in sorted(names):
            self.need(name, of, place)
        self.is_early = was

    def read(self, names: Names, of: dict[str, Any], found: Definition) -> None:
        """Takes note of what reached code reads; binds its names at once or in the end."""
        self.attributes |= names.attributes
        self.changed |= names.stores
        for name in sorted(names.reads | names.stores & of.keys()):
            place = found.cell.place(names.lines.get(name, found.node.lineno))
            if self.is_early:
                self.need(name, of, place)
            else:
                self._queue.append((name, of, place))

    def is_own(self, value: Any) -> bool:
        """Whether a function or class is of the notebook or script itself."""
        if isinstance(value, FunctionType):
            return value.__globals__ is self.main
        return isinstance(value, type) and value.__module__ == self.main.get("__name__")

    def _bind(self, name: str, value: Any, place: str) -> None:
        if id(value) in self.names_by_id:
            return self._alias(name, value)
        if self._imported(name, value) or self.define(name, value, place):
            return None
        if isinstance(value, NAMED):
            return self._import_as(name, value, place)
        return None if self._starts_anew(name, value) else self._value(name, value, place)

    def _alias(self, name: str, value: Any) -> None:
        other = self.names_by_id[id(value)]
        part, self._aliases[name] = Part(f"{name} = {other}\n"), other
        if other in self.values:
            self.values[name] = part
        else:
            self.definitions.append(part)

    def named(self, name: str, value: Any) -> None:
        """From now on the name stands for the value in the file."""
        self.bound[name] = value
        if not isinstance(value, UNNAMED):
            self.names_by_id.setdefault(id(value), name)

    def _imported(self, name: str, value: Any) -> bool:
        """Imports a name as a cell does, if that gives this value, and it is of a package."""
        is_plain = literal(value) != "" and not isinstance(value, float)
        for found in reversed(self._imports.get(name, ())):
            module = place_of(value)
            if found.value is not value or is_plain or (isinstance(value, FunctionType | type) and self.is_own(value)):
                continue
            if not isinstance(value, NAMED) and _is_users(found.statement):
                continue
            several = [each.statement for each in self._imports[name] if each.value is value]
            self.imports |= dict.fromkeys(several if isinstance(value, ModuleType) else [found.statement])
            self._use_module(value if isinstance(value, ModuleType) else module and module[0])
            self.named(name, value)
            return True
        return False

    def _import_as(self, name: str, value: Any, place: str) -> None:
        found = place_of(value)
        if found is None:
            what = type_name(value).removeprefix("builtins.")
            raise self.refuse(place, f"{name} is a {what} that cannot be imported by a name: define it in a cell")
        module, attribute = found
        first, _, rest = attribute.partition(".")
        self._use_module(module)
        if not attribute:
            is_top = module == name
            self.imports.setdefault(f"import {module}" + ("" if is_top else f" as {name}"))
        elif rest:
            self.imports.setdefault(f"from {module} import {first} as _{first}")
            self.definitions.append(Part(f"{name} = _{first}.{rest}\n"))
        else:
            self.imports.setdefault(f"from {module} import {attribute}" + ("" if attribute == name else f" as {name}"))
        self.named(name, value)

    def _use_module(self, module: Any) -> None:
        found = module if isinstance(module, ModuleType) else sys.modules.get(str(module))
        if found is not None:
            is_new = found not in self.modules
            self.modules.add(found)
            if is_new and (file := own_file(found)):
                self._read_file(file)

    def _read_file(self, file: Path) -> None:
        """All attributes that a module of the user's reads, of whatever it is given, and modules that it imports."""
        cell = Cell(file.read_text(encoding="utf-8", errors="replace"), str(file))
        self.is_opaque |= is_opaque(cell.tree)
        for code in cell.codes():
            self.attributes |= names_in(code).attributes
        for found in imports_in([cell]).values():
            for each in found:
                self._use_module(each.statement.split()[1])

    def name_of(self, value: Any) -> str:
        """The name in the file of a function, class or module that a value holds."""
        if is_builtin(value) and value.__name__ not in self.main:
            return value.__name__
        if id(value) in self.unfinished:
            name = self.names_by_id[id(value)]
            raise self.refuse(name, f"{name} holds something that holds {name}: define it at the top of a cell")
        if id(value) in self.names_by_id:
            name = self.names_by_id[id(value)]
            self._hoist(name)
            return name
        named = getattr(value, "__name__", "").rpartition(".")[2]
        if self.main.get(named) is value and named.isidentifier():
            self.need(named, self.main, self.who)
            return named
        name = next((each for each, held in self.main.items() if held is value and not each.startswith("_")), "")
        if name and not isinstance(value, ModuleType):
            self.need(name, self.main, self.who)
            return name
        name = self.fresh(named if named.isidentifier() else "function")
        self.bound[name] = value
        self._bind(name, value, self.who)
        return name

    def fresh(self, stem: str) -> str:
        """A name that neither the file nor the notebook has."""
        stem = f"_{stem.strip('_')}"
        names = (f"{stem}{number or ''}" for number in range(len(self.bound) + len(self.main) + 2))
        return next(name for name in names if name not in self.bound and name not in self.main)

    def expression(self, value: Any, path: str) -> str:
        """Python's text for a value that is needed at once."""
        was, self.is_early = self.is_early, True
        if isinstance(value, NAMED):
            text = self.name_of(value)
        elif id(value) in self.names_by_id:
            text = self.names_by_id[id(value)]
            self._hoist(text)
        else:
            owner = next((n for n, held in self.main.items() if held is value and not n.startswith("_")), "")
            text = self._literal(value)
            if not text and owner:
                self.need(owner, self.main, path)
                self._hoist(owner)
                text = owner
            text = text or self._carry(path, value, path)
        self.is_early = was
        return text

    def _literal(self, value: Any) -> str:
        """Python's text for a short plain value, none of whose parts something else holds; "" for any other."""
        seen = list[int]()

        def is_shared(part: Any) -> bool:
            seen.extend([] if isinstance(part, UNNAMED) else [id(part)])
            return id(part) in self.known.shared and not isinstance(part, UNNAMED)

        text = literal(value, is_shared)
        self.visits.update(seen if text else ())
        return text

    def _keeps(self, value: Any, name: str) -> bool:
        return self.is_opaque or not self.is_own(type(value)) or name in self.attributes

    def _carry(self, key: str, value: Any, place: str) -> str:
        try:
            self.carried.add(key, value, key)
        except Uncarried as fault:
            raise self.refuse(
                place, f"{self.who} holds {fault}: make it inside a function, or hold plain values"
            ) from None
        return f"{CARRIED}[{key!r}]"

    def _value(self, name: str, value: Any, place: str) -> None:
        text = self._literal(value) or self._carry(name, value, place)
        found = bindings_of(name, self.cells)[:1]
        part = Part(f"{name} = {text}\n", *((found[0].cell, found[0].node.lineno) if found else ()))
        self.named(name, value)
        if self.is_early:
            self.definitions.append(part)
        else:
            self.values[name] = part

    def _starts_anew(self, name: str, value: Any) -> bool:
        """Writes the statement that first made a value, if that is the one with which the agent begins a game."""
        if type_name(value) not in ANEW and name not in self.known.changed:
            return False
        found = bindings_of(name, self.cells)
        node = found[0].node.value if found else None
        others = [each for cell in self.cells for each in cell.tree.body if not _defines(each)]
        others += [
            each for cell in self.cells for each in cell.tree.body if _defines(each) and not self._is_reached(each)
        ]
        is_filled = type_name(value) not in ANEW and (touches(name, others) or id(value) in self.known.shared)
        if node is None or is_filled or not all(self._is_code(each) for each in read_by(node)):
            if type_name(value) not in ANEW and name in self.main:
                self.note(f"{name} changes as {self.who} plays: every game starts with what it holds now")
            return False
        where = found[0].cell.place(found[0].node.lineno)
        self.early(read_by(node), self.main, where)
        text = f"{name} = ({found[0].cell.segment(node)})\n" if node.end_lineno != node.lineno else ""
        text = text or f"{name} = {found[0].cell.segment(node)}\n"
        if not type_name(value).startswith("_thread."):
            self.note(f"{name} changes as {self.who} plays: every game starts with its first value ({where})")
        self.restarts[name] = text
        self.named(name, value)
        self.definitions.append(Part(text, found[0].cell, found[0].node.lineno))
        return True

    def _is_code(self, name: str) -> bool:
        return isinstance(self.main.get(name), NAMED)

    def _is_reached(self, node: ast.AST) -> bool:
        within = {id(each) for each in ast.walk(node)}
        return any(id(each) in within for each in self.known.nodes)

    def define(self, name: str, value: Any, place: str) -> bool:
        """Writes a name of a function or class as code, if its source is the notebook's; whether it is."""
        raise NotImplementedError

    def reach_methods(self) -> bool:
        """Reads the methods of written classes that something may call; whether there were any new ones."""
        raise NotImplementedError

    def define_early(self, value: Any) -> None:
        """Writes what a function reads that was written without that."""
        raise NotImplementedError


def _is_users(statement: str) -> bool:
    module = sys.modules.get(statement.split()[1])
    return module is not None and own_file(module) is not None


def _defines(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
