"""Writes what a running function needs as a file: source of what ran for code, values as they are now.

A ``Writer`` follows the names that the function's code object reads. Captured values stand for whatever running the
source again would make anew: what a closure holds, defaults, attributes that were set later. Decorators of packages run
again; those of the notebook have run, and what they made is a closure.
"""

import ast
import difflib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from connectx_toolkit.builder.notebook.carrying import ANEW, NAMED, Uncarried, Values, literal, type_name
from connectx_toolkit.builder.notebook.code_objects import (
    CodeNames,
    changed_in_place,
    functions_of,
    is_opaque,
    names_in,
    rebound_by,
    touches,
)
from connectx_toolkit.builder.notebook.definitions import (
    bracketed,
    calls_methods,
    class_source,
    defaults_of,
    function_text,
    indent_of,
    inner_function,
    is_as_written,
    is_special,
    renamed,
)
from connectx_toolkit.builder.notebook.imports import Imports, is_builtin
from connectx_toolkit.builder.notebook.page import ONLY_THERE
from connectx_toolkit.builder.notebook.ran import Cell, Definition, binding_of, definition_of
from connectx_toolkit.builder.notebook.reads import BUILTINS, DEFINITIONS, DUNDERS, reads_of
from connectx_toolkit.builder.notebook.written import AGENT
from connectx_toolkit.builder.source.refusals import Refusal, Refused
from connectx_toolkit.builder.source.text import first_line

# Of these, equal ones are as good as the same.
UNNAMED: Any = int | float | complex | str | bytes | tuple | frozenset | type(None)
CARRIED = "_carried"
AT_THE_TOP = "define it at the top of a cell"


@dataclass
class Known:
    """What passes have found of the agent's code: a later one writes no less.

    attributes: that it reads of anything; all, if it ``is_opaque``. shared: ids of mutable values that several hold.
    changed: names that it binds or changes as it plays. nodes: the functions that are reached, by their places.
    """

    attributes: set[str] = field(default_factory=set)
    is_opaque: bool = False
    shared: set[int] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    nodes: dict[str, ast.AST] = field(default_factory=dict)

    @property
    def size(self) -> tuple[int, ...]:
        return len(self.attributes), len(self.shared), len(self.changed), len(self.nodes), self.is_opaque

    def may_read(self, attribute: str) -> bool:
        return self.is_opaque or attribute in self.attributes


class Part(NamedTuple):
    """Statements of the file, and the places of its lines, "" where they have none."""

    text: str
    places: Sequence[str] = ()


def part(text: str, found: Definition, line: int = 0, above: int = 0) -> Part:
    """A part whose lines, but for the first ``above``, come from a cell: from ``line``, or where ``found`` begins."""
    count, line = text.count("\n") + 1 - above, line or found.node.lineno
    return Part(text, [""] * above + [found.cell.place(line + number) for number in range(count)])


@dataclass
class Writer:
    """One pass over what a function needs.

    main: the names of the notebook or script. who: the agent's name for people. parts: by the name that each binds.
    settings: what is set when all names are bound.
    """

    main: dict[str, Any]
    who: str
    cells: list[Cell]
    known: Known
    parts: dict[str, Part] = field(default_factory=dict)
    settings: list[Part] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    restarts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bound: set[str] = set()
        self.names_by_id: dict[int, str] = {}
        self.visits: Counter[int] = Counter()
        self.carried = Values(self.name_of, self._keeps, self.known.attributes.add, self.note)
        self.unfinished: set[int] = set()  # ids of functions that are being written, with what they hold
        self._queue: list[tuple[str, str]] = []  # names that are needed, and where
        self.imports = Imports(self.cells, self._read_module)
        self._classes: list[tuple[type, str]] = []
        self._holders: dict[int, tuple[str, bool]] = {}  # id of a variable -> a function that holds it, and rebinds
        self._reached: set[tuple[type, str]] = set()

    def note(self, text: str) -> None:
        self.notes.setdefault(text)

    def refuse(self, place: str, reason: str) -> Refused:
        return Refused([Refusal(Path(AGENT), 1, reason, place)])

    def run(self) -> None:
        """Writes all that is still owed."""
        while self._queue or self._reach_methods():
            queued, self._queue = self._queue, []
            for name, place in queued:
                self.need(name, place, is_in_play=True)
        counts = self.visits + Counter(self.carried.visits)
        self.known.shared |= {number for number, count in counts.items() if count > 1}

    def need(self, name: str, place: str, is_in_play: bool = False) -> None:
        """Binds a name of the notebook in the file. ``is_in_play``: it is read when a function is called."""
        if name in self.bound or name in DUNDERS or (name not in self.main and name in BUILTINS - ONLY_THERE):
            return
        if name not in self.main and name in self.known.changed and is_in_play:
            self.note(f"{name} is bound as {self.who} plays: every game starts without it")
            self.restarts[name] = f"globals().pop({name!r}, None)"
            return
        if name not in self.main:
            close = difflib.get_close_matches(name, [*self.main], 1)
            meant = f"did you mean {close[0]}? " if close else ""
            meant = "Kaggle runs it without IPython: leave that out. " if name in ONLY_THERE else meant
            reason = f"{self.who} reads {name}, which no cell defines now: {meant}"
            raise self.refuse(place, f"{reason}Define it, or run the cell that does")
        self._bind(name, self.main[name], place)

    def read(self, names: CodeNames, found: Definition) -> None:
        """Takes note of what reached code reads."""
        self.known.attributes |= names.attributes
        self.known.changed |= names.stores
        for name in sorted(names.reads | names.stores & self.main.keys()):
            self._queue.append((name, found.cell.place(names.lines.get(name, found.node.lineno))))

    def _read_module(self, cell: Cell) -> None:
        """Takes note of all attributes that a module of the user's reads, of whatever it is given."""
        self.known.is_opaque |= is_opaque(cell.tree)
        for code in cell.codes():
            self.known.attributes |= names_in(code).attributes

    def names_read_by(self, *nodes: ast.expr) -> set[str]:
        """The names that expressions read, but Python's own."""
        reads = [reads_of(ast.Expr(node)) for node in nodes]
        names = set[str]().union(*(each.now | each.later for each in reads))
        return {name for name in names if name in self.main or name not in BUILTINS}

    def is_own(self, value: Any) -> bool:
        """Whether a function or class is of the notebook or script itself."""
        if isinstance(value, FunctionType):
            return value.__globals__ is self.main
        return isinstance(value, type) and value.__module__ == self.main.get("__name__")

    def _bind(self, name: str, value: Any, place: str) -> None:
        self.bound.add(name)
        if id(value) in self.names_by_id:
            self.parts[name] = Part(f"{name} = {self.names_by_id[id(value)]}")
        elif not self.is_own(value) and self.imports.as_cells_do(name, value):
            self.named(name, value)
        elif isinstance(value, FunctionType) and self.is_own(value):
            self._define_function(name, value)
        elif (inner := inner_function(value)) and self.is_own(inner):
            self._define_decorated(name, value, inner, place)
        elif isinstance(value, type) and self.is_own(value):
            self._define_class(name, value, place)
        elif isinstance(value, NAMED):
            self._import(name, value, place)
        elif not self._starts_anew(name, value):
            self._write_value(name, value, place)

    def named(self, name: str, value: Any) -> None:
        """From now on the name stands for the value in the file."""
        if not isinstance(value, UNNAMED):
            self.names_by_id.setdefault(id(value), name)

    def _import(self, name: str, value: Any, place: str) -> None:
        text = self.imports.by_place(name, value)
        if text is None:
            what = type_name(value).removeprefix("builtins.")
            raise self.refuse(place, f"{name} is a {what} that cannot be imported by a name: define it in a cell")
        if text:
            self.parts[name] = Part(text)
        self.named(name, value)

    def name_of(self, value: Any) -> str:
        """The name in the file of a function, class or module that a value holds."""
        if is_builtin(value) and value.__name__ not in self.main:
            return value.__name__
        if id(value) in self.unfinished:
            name = self.names_by_id[id(value)]
            raise self.refuse(name, f"{name} holds something that holds {name}: {AT_THE_TOP}")
        if id(value) in self.names_by_id:
            return self.names_by_id[id(value)]
        stem = getattr(value, "__name__", "").rpartition(".")[2]
        is_here = self.main.get(stem) is value
        name = stem if is_here else "" if isinstance(value, ModuleType) else owner_in(self.main, value)
        if name:
            self.need(name, self.who)
        else:
            name = self.fresh(stem if stem.isidentifier() else "function")
            self._bind(name, value, self.who)
        return name

    def fresh(self, stem: str) -> str:
        """A name that neither the file nor the notebook has."""
        stem = f"_{stem.strip('_')}"
        names = (f"{stem}{number or ''}" for number in range(len(self.bound) + len(self.main) + 2))
        return next(name for name in names if name not in self.bound and name not in self.main)

    def expression(self, value: Any, path: str) -> str:
        """Python's text for a value."""
        if isinstance(value, NAMED):
            return self.name_of(value)
        if id(value) in self.names_by_id:
            return self.names_by_id[id(value)]
        text = self._literal(value)
        if not text and (text := owner_in(self.main, value)):
            self.need(text, path)
        return text or self._carry(path, value, path)

    def _literal(self, value: Any) -> str:
        """Python's text for a short plain value, none of whose parts something else holds; "" for any other."""
        seen = list[int]()

        def is_shared(held: Any) -> bool:
            seen.extend([] if isinstance(held, UNNAMED) else [id(held)])
            return id(held) in self.known.shared and not isinstance(held, UNNAMED)

        text = literal(value, is_shared)
        self.visits.update(seen if text else ())
        return text

    def _keeps(self, value: Any, name: str) -> bool:
        return self.known.may_read(name) or not self.is_own(type(value))

    def _carry(self, key: str, value: Any, place: str) -> str:
        key = f"{key} {len(self.carried.roots)}" if key in self.carried.roots else key
        try:
            self.carried.add(key, value, key)
        except Uncarried as fault:
            cure = "make it inside a function, or hold plain values"
            raise self.refuse(place, f"{self.who} holds {fault}: {cure}") from None
        return f"{CARRIED}[{key!r}]"

    def _write_value(self, name: str, value: Any, place: str) -> None:
        text = f"{name} = {self._literal(value) or self._carry(name, value, place)}"
        found = binding_of(name, self.cells)
        self.named(name, value)
        self.parts[name] = part(text, found) if found else Part(text)

    def _starts_anew(self, name: str, value: Any) -> bool:
        """Writes the statement that first made a value, if that is the one with which the agent begins a game."""
        is_made_anew = type_name(value) in ANEW
        if not is_made_anew and name not in self.known.changed:
            return False
        found = binding_of(name, self.cells)
        is_filled = not is_made_anew and (touches(name, self._not_reached()) or id(value) in self.known.shared)
        read = self.names_read_by(found.node.value) if found else set()
        if found is None or is_filled or not all(isinstance(self.main.get(each), NAMED) for each in read):
            if not is_made_anew and name in self.main:
                self.note(f"{name} changes as {self.who} plays: every game starts with what it holds now")
            return False
        if not type_name(value).startswith("_thread."):
            self.note(f"{name} changes as {self.who} plays: every game starts with its first value ({found.place})")
        self.visits[id(value)] += 1
        self._run_again(name, value, found)
        self.restarts[name] = self.parts[name].text
        return True

    def _not_reached(self) -> list[ast.stmt]:
        """The statements of cells, but for definitions of what is reached."""
        reached = set(map(id, self.known.nodes.values()))
        return [
            node
            for cell in self.cells
            for node in cell.tree.body
            if not isinstance(node, DEFINITIONS) or reached.isdisjoint(map(id, ast.walk(node)))
        ]

    def _run_again(self, name: str, value: Any, found: Definition) -> None:
        """Writes the statement that made a value."""
        for each in sorted(self.names_read_by(found.node.value)):
            self.need(each, found.place)
        self.named(name, value)
        self.parts[name] = part(f"{name} = {bracketed(found.cell.source.of(found.node.value))}", found)

    def _source(self, code: CodeType, name: str) -> Definition:
        """Where a function is written. Raises Refused if that is nowhere."""
        found = definition_of(code, self.cells)
        if found is None:
            is_typed = code.co_filename.startswith("<")
            why = "was made by exec, or typed at Python's prompt (>>>)" if is_typed else "is not in its file any more"
            cure = "write it into a cell or a file, and run that"
            raise self.refuse(name, f"{name} {why}, so nothing keeps its source: {cure}")
        if self.known.nodes.setdefault(f"{found.place}, {found.node.col_offset}", found.node) is found.node:
            self.known.is_opaque |= is_opaque(found.node)
        names = names_in(code)
        self.known.changed |= changed_in_place(found.node) & names.reads
        self.read(names, found)
        return found

    def _define_function(self, name: str, function: FunctionType) -> None:
        found = self._source(function.__code__, name)
        self.named(name, function)
        self.unfinished.add(id(function))
        text = self._text(name, found, function)
        free = self._closure(name, function)
        self.unfinished.discard(id(function))
        if free or indent_of(text):
            self._define_by_maker(name, found, text, free)
        elif isinstance(found.node, ast.Lambda):
            self.parts[name] = part(f"{name} = {bracketed(text)}", found)
        else:
            self.parts[name] = part(renamed(text, name), found)
        self._set_attributes(name, function, lambda attribute, held: False)

    def _text(self, name: str, found: Definition, function: FunctionType) -> str:
        """A function's text, with what its defaults are now unless that is what their text gives."""
        defaults = defaults_of(found.node.args, function)
        return function_text(found, [(node, self.expression(held, f"{name}.{of}")) for of, node, held in defaults])

    def _define_by_maker(self, name: str, found: Definition, text: str, free: dict[str, str]) -> None:
        """Writes a function that stands in another, or in a block, as what a function gives that has it as it stood."""
        maker = self.fresh(f"make_{name}")
        self.bound.add(maker)
        if isinstance(found.node, ast.Lambda):
            body = f"    return {bracketed(text)}"
        else:
            body = f"{text}\n{indent_of(text)}return {found.node.name}"
        made = f"{name} = {maker}({', '.join(free.values())})"
        self.parts[name] = part(f"def {maker}({', '.join(free)}):\n{body}\n\n\n{made}", found, above=1)

    def _closure(self, name: str, function: FunctionType) -> dict[str, str]:
        """Name -> expression of what a function holds of those around it."""
        free = dict[str, str]()
        for number, variable in enumerate(function.__code__.co_freevars):
            cell = (function.__closure__ or ())[number]
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if value is function and variable == function.__name__:
                continue
            self._note_variable(name, function, variable, cell)
            free[variable] = "None"
            if id(value) in self.unfinished:  # it is put into the cell when both are there
                text = f"{name}.__closure__[{number}].cell_contents = {self.names_by_id[id(value)]}"
                self.settings.append(Part(text))
            else:
                free[variable] = self.expression(value, f"{name}.{variable}")
        return free

    def _note_variable(self, name: str, function: FunctionType, variable: str, cell: Any) -> None:
        """Says that a variable changes in play. Raises Refused if another function holds it, too."""
        is_rebound = variable in rebound_by(function.__code__)
        other, was_rebound = self._holders.setdefault(id(cell), (name, is_rebound))
        if other != name and (is_rebound or was_rebound):
            cure = "keep it in a list or an object that both hold"
            raise self.refuse(name, f"{variable} changes as {self.who} plays, and {other} and {name} share it: {cure}")
        if is_rebound:
            self.note(f"{variable} of {name} changes as {self.who} plays: every game starts with what it is now")

    def _set_attributes(self, name: str, value: Any, is_written: Callable[[str, Any], bool]) -> None:
        """Attributes that a function or class was given later."""
        if name in self.known.changed and self.main.get(name) is value:
            self.note(f"attributes of {name} change as {self.who} plays: every game starts with what they are now")
        for attribute, held in vars(value).items():
            if self.known.may_read(attribute) and not is_special(attribute) and not is_written(attribute, held):
                text = self.expression(held, f"{name}.{attribute}")
                self.settings.append(Part(f"{name}.{attribute} = {text}"))

    def _define_decorated(self, name: str, value: Any, inner: FunctionType, place: str) -> None:
        """What a package's decorator has made of a function, made again by it."""
        found = self._source(inner.__code__, name)
        self.named(name, value)
        decorators = [node for node in getattr(found.node, "decorator_list", []) if self._is_packages(node)]
        if not decorators:
            return self._define_assigned(name, value, place)
        for each in sorted(self.names_read_by(*decorators)):
            self.need(each, found.place)
        text = self._text(name, found, inner)
        if indent_of(text):
            raise self.refuse(found.place, f"{name} is decorated within a block: {AT_THE_TOP}")
        above = "".join(f"@{found.cell.source.of(node)}\n" for node in decorators)
        self.parts[name] = part(above + renamed(text, name), found, above=above.count("\n"))

    def _is_packages(self, decorator: ast.expr) -> bool:
        return all(name in self.main and not self.is_own(self.main[name]) for name in self.names_read_by(decorator))

    def _define_assigned(self, name: str, value: Any, place: str) -> None:
        """A function or class that an assignment made."""
        found = binding_of(name, self.cells)
        if found is None:
            raise self.refuse(place, f"{name} is a {type_name(value)} that no cell assigns: define it in a cell")
        self._run_again(name, value, found)

    def _define_class(self, name: str, cls: type, place: str) -> None:
        if cls.__qualname__ != cls.__name__:
            raise self.refuse(place, f"{self.who} holds a class {cls.__qualname__}: {AT_THE_TOP}")
        found, current = class_source(cls, self.cells), self.main.get(cls.__name__)
        if current is not cls and isinstance(current, type):
            new = class_source(current, self.cells)
            old = f" made by {found.cell.name}" if found and found.cell is not (new and new.cell) else ""
            means = f", and {cls.__name__} means {new.cell.name}'s class now" if new else ""
            cure = "run the cell that makes it again"
            raise self.refuse(place, f"{self.who} holds a {cls.__name__}{old}{means}: {cure}")
        self.named(name, cls)
        if found is None:
            return self._define_assigned(name, cls, place)
        node, reads = found.node, reads_of(found.node, has_lazy=True)
        for each in sorted(reads.now - reads.perhaps - {cls.__name__}):
            self.need(each, found.place)
        text = "\n".join(found.cell.source.lines[first_line(node) - 1 : node.end_lineno])
        if indent_of(text):
            raise self.refuse(found.place, f"the class {name} is defined within a block: {AT_THE_TOP}")
        self.parts[name] = part(renamed(text, name), found, first_line(node))
        self._classes.append((cls, name))
        self._set_attributes(name, cls, lambda attribute, held: is_as_written(cls, attribute, held, node, self.cells))

    def _reach_methods(self) -> bool:
        """Reads the methods of written classes that something may call; whether there were any new ones."""
        found = [
            (cls, name, method, function)
            for cls, name in self._classes
            for method, function in functions_of(cls).items()
            if (cls, method) not in self._reached and self._is_reached_method(cls, name, method)
        ]
        for cls, name, method, function in found:
            self._reached.add((cls, method))
            if function.__globals__ is self.main and definition_of(function.__code__, self.cells):
                self._source(function.__code__, f"{name}.{method}")
            else:
                self.known.attributes |= names_in(function.__code__).attributes
        return bool(found)

    def _is_reached_method(self, cls: type, name: str, method: str) -> bool:
        """Whether something may call a method: by its name, or a base class of a package that knows it."""
        if method == "__init__":
            return self._is_made_anew(cls, name)
        is_called = any(calls_methods(base) and not self.is_own(base) for base in cls.__mro__)
        return is_special(method) or is_called or self.known.may_read(method)

    def _is_made_anew(self, cls: type, name: str) -> bool:
        """Whether reached code may call a class, and so its ``__init__``."""
        named = {each.id for node in self.known.nodes.values() for each in ast.walk(node) if isinstance(each, ast.Name)}
        named |= {word for text in self.restarts.values() for word in re.findall(r"\w+", text)}
        is_hidden = self.known.attributes & {"__init__", "__class__", "__new__"} or "type" in named
        return bool(is_hidden) or name in named or any(isinstance(each, classmethod) for each in vars(cls).values())


def owner_in(main: dict[str, Any], value: Any) -> str:
    """A name that a notebook gives a value, "" if none; IPython's own begin with _."""
    return next((name for name, held in main.items() if held is value and not name.startswith("_")), "")
