"""Writes what a running function needs as a file: source of what ran for code, values as they are now.

A ``Writer`` follows the names that the function's code object reads. Functions and classes come before values, and
whatever runs as the file is loaded (a decorator, a default, the body of a class) comes before that.
"""

import ast
import builtins
import difflib
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from connectx_toolkit.builder.notebook.imports import imports_in, is_builtin, own_file, place_of
from connectx_toolkit.builder.notebook.ran import Cell, Definition, bindings_of, class_named, definition_of
from connectx_toolkit.builder.notebook.reading import (
    Names,
    changed_by,
    functions_of,
    names_in,
    of_class_statement,
    read_by,
    touches,
)
from connectx_toolkit.builder.notebook.carrying import ANEW, NAMED, Uncarried, Values, literal, type_name
from connectx_toolkit.builder.source.refusals import Refusal, Refused

GIVEN = frozenset({"__name__", "__file__", "__builtins__", "__doc__"})  # by Python to every module
OF_IPYTHON = frozenset({"display", "get_ipython", "exit", "quit", "In", "Out"})
RUN_AGAIN = "run the cell that makes it again"
CARRIED = "_carried"


class Known(NamedTuple):
    """What an earlier pass has found: a later one writes no less."""

    attributes: frozenset[str] = frozenset()
    is_opaque: bool = False
    shared: frozenset[int] = frozenset()  # ids of mutable values that several hold
    changed: frozenset[str] = frozenset()  # names that the agent's code binds or changes as it plays
    nodes: tuple[ast.AST, ...] = ()  # the functions that are reached


class Part(NamedTuple):
    """Lines of the file, and where they come from: the cell, and the line there of their first, below ``above`` more."""

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
        self._ready: set[str] = set()
        self._classes: list[tuple[type, str]] = []
        self._methods_done: set[tuple[type, str]] = set()
        self._imports = imports_in(self.cells)

    # ---- what is asked for

    def note(self, text: str) -> None:
        self.notes.setdefault(text)

    def refuse(self, place: str, reason: str) -> Refused:
        return Refused([Refusal(Path("agent.py"), 1, reason, place)])

    def run(self) -> None:
        """Writes all that is still owed."""
        while self._queue or self._reach_methods():
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
        if name in GIVEN or (name not in names and hasattr(builtins, name) and name not in OF_IPYTHON):
            return
        if name not in names:
            close = difflib.get_close_matches(name, [*names, *dir(builtins)], 1)
            meant = f"did you mean {close[0]}? " if close else ""
            if name in OF_IPYTHON:
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
        if not self.is_early or name in self._ready:
            return
        self._ready.add(name)
        value = self.bound[name]
        if isinstance(value, FunctionType) and self.is_own(value):
            self._read(names_in(value.__code__), value.__globals__, self._define_place(value))
        if name in self.values:
            self.definitions.append(self.values.pop(name))

    def early(self, names: set[str] | frozenset[str], of: dict[str, Any], place: str) -> None:
        """Binds names that are read as the file is loaded, and all that these read."""
        was, self.is_early = self.is_early, True
        for name in sorted(names):
            self.need(name, of, place)
        self.is_early = was

    def _read(self, names: Names, of: dict[str, Any], place: str) -> None:
        """Takes note of what reached code reads; binds its names at once or in the end."""
        self.attributes |= names.attributes
        self.is_opaque |= names.is_opaque
        self.changed |= names.stores
        for name in sorted(names.reads | names.stores & of.keys()):
            if self.is_early:
                self.need(name, of, place)
            else:
                self._queue.append((name, of, place))

    # ---- kinds of values

    def is_own(self, value: Any) -> bool:
        """Whether a function or class is of the notebook or script itself."""
        if isinstance(value, FunctionType):
            return value.__globals__ is self.main
        return isinstance(value, type) and value.__module__ == self.main.get("__name__")

    def _bind(self, name: str, value: Any, place: str) -> None:
        if id(value) in self.names_by_id and not isinstance(value, int | str | float | tuple | type(None)):
            return self._alias(name, value)
        inner = _inner(value)
        if self._imported(name, value):
            return None
        if isinstance(value, FunctionType) and self.is_own(value):
            return self._define_function(name, value, place)
        if inner is not None and self.is_own(inner):
            return self._define_decorated(name, value, inner, place)
        if isinstance(value, type) and self.is_own(value):
            return self._define_class(name, value, place)
        if isinstance(value, NAMED):
            return self._import_as(name, value, place)
        if isinstance(value, type(re)) or self._starts_anew(name, value, place):
            return None
        return self._value(name, value, place)

    def _alias(self, name: str, value: Any) -> None:
        other = self.names_by_id[id(value)]
        part = Part(f"{name} = {other}\n")
        if other in self.values:
            self.values[name] = part
        else:
            self.definitions.append(part)

    def _named(self, name: str, value: Any) -> None:
        self.bound[name] = value
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
            self._named(name, value)
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
        self._named(name, value)

    def _use_module(self, module: Any) -> None:
        found = module if isinstance(module, ModuleType) else sys.modules.get(str(module))
        if found is not None:
            self.modules.add(sys.modules.get(found.__name__.partition(".")[0], found))
            if (file := own_file(found)) and found not in self._methods_done:
                self._methods_done.add(found)
                self._read_file(file)

    def _read_file(self, file: Path) -> None:
        """All attributes that a module of the user's reads, of whatever it is given."""
        for code in Cell(file.read_text(encoding="utf-8", errors="replace"), str(file)).codes():
            self.attributes |= names_in(code).attributes

    def name_of(self, value: Any) -> str:
        """The name in the file of a function, class or module that a value holds."""
        if is_builtin(value) and value.__name__ not in self.main:
            return value.__name__
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
            text = literal(value, self._is_shared)
            if not text and owner:
                self.need(owner, self.main, path)
                self._hoist(owner)
                text = owner
            text = text or self._carry(path, value, path)
        self.is_early = was
        return text

    def _is_shared(self, value: Any) -> bool:
        if isinstance(value, tuple | frozenset):
            return False
        self.visits[id(value)] += 1
        return id(value) in self.known.shared

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
        text = literal(value, self._is_shared) or self._carry(name, value, place)
        found = bindings_of(name, self.cells)[:1]
        part = Part(f"{name} = {text}\n", *((found[0].cell, found[0].node.lineno) if found else ()))
        self._named(name, value)
        if self.is_early:
            self.definitions.append(part)
        else:
            self.values[name] = part

    def _starts_anew(self, name: str, value: Any, place: str) -> bool:
        """Writes the statement that first made a value, if that is the one with which the agent begins a game."""
        if type_name(value) not in ANEW and name not in self.known.changed:
            return False
        found = bindings_of(name, self.cells)
        node = found[0].node.value if found else None
        others = [each for cell in self.cells for each in cell.tree.body if not _defines(each)]
        others += [
            each for cell in self.cells for each in cell.tree.body if _defines(each) and not self._is_reached(each)
        ]
        is_filled = touches(name, others) and type_name(value) not in ANEW
        if node is None or is_filled or not all(self._is_code(each) for each in read_by(node)):
            if type_name(value) not in ANEW and name in self.main:
                self.note(f"{name} changes as {self.who} plays: every game starts with what it holds now")
            return False
        where = found[0].cell.place(found[0].node.lineno)
        self.early(read_by(node), self.main, where)
        text = f"{name} = ({found[0].cell.segment(node)})\n" if node.end_lineno != node.lineno else ""
        text = text or f"{name} = {found[0].cell.segment(node)}\n"
        self.note(f"{name} changes as {self.who} plays: every game starts with its first value ({where})")
        self.restarts[name] = text
        self._named(name, value)
        self.definitions.append(Part(text, found[0].cell, found[0].node.lineno))
        return True

    def _is_code(self, name: str) -> bool:
        return isinstance(self.main.get(name), NAMED)

    def _is_reached(self, node: ast.AST) -> bool:
        within = {id(each) for each in ast.walk(node)}
        return any(id(each) in within for each in self.known.nodes)

    # ---- code

    def _define_place(self, function: FunctionType) -> str:
        return self.source(function.__code__, function.__name__).place

    def source(self, code: CodeType, name: str) -> Definition:
        """Where a function is written. Raises Refused if that is nowhere."""
        found = definition_of(code, self.cells)
        if found is None:
            is_typed = code.co_filename.startswith("<")
            why = "was made by exec, or typed at Python's prompt (>>>)" if is_typed else "is not in its file any more"
            cure = "write it into a cell or a file, and run that"
            raise self.refuse(name, f"{name} {why}, so nothing keeps its source: {cure}")
        if not any(found.node is each for each in self.nodes):
            self.nodes.append(found.node)
        self.changed |= changed_by(found.node) & names_in(code).reads
        return found

    def _define_function(self, name: str, function: FunctionType, place: str) -> None:
        found = self.source(function.__code__, name)
        self._named(name, function)
        if self.is_early:
            self._ready.add(name)
        self._read(names_in(function.__code__), function.__globals__, found.place)
        edits = self._defaults(found, function)
        text, line = _function_text(found, edits)
        free = self._closure(name, function, found)
        if isinstance(found.node, ast.Lambda):
            text = f"({text})" if "\n" in text else text
            body, result = "", f"return {text}"
        else:
            body, result = text, f"return {found.node.name}"
        indent = re.match(r"[ \t]*", body)[0] if body else ""  # type: ignore[index]
        if free or indent:
            maker = self.fresh(f"make_{name}")
            self.bound[maker] = None
            body = f"{body}\n" if body else ""
            if body and not indent:
                raise self.refuse(found.place, f"{name} holds {', '.join(free)} of a function: define it in one")
            text = f"def {maker}({', '.join(free)}):\n{body}{indent or '    '}{result}\n"
            text += f"\n\n{name} = {maker}({', '.join(free.values())})\n"
            self.definitions.append(Part(text, found.cell, line, 1))
        elif body:
            renamed = re.sub(r"(def\s+)\w+", rf"\g<1>{name}", body, count=1)
            self.definitions.append(Part(f"{renamed}\n", found.cell, line))
        else:
            self.definitions.append(Part(f"{name} = {text}\n", found.cell, line))
        self._set_attributes(name, function)

    def _set_attributes(self, name: str, value: Any) -> None:
        """Attributes that a function was given."""
        for attribute, held in vars(value).items():
            if attribute in self.known.attributes and attribute != "__wrapped__":
                text = self.expression(held, f"{name}.{attribute}")
                self.settings.append(Part(f"{name}.{attribute} = {text}\n"))

    def _closure(self, name: str, function: FunctionType, found: Definition) -> dict[str, str]:
        """Name -> expression of what a function holds of those around it."""
        free = dict[str, str]()
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if value is function and variable == function.__name__:
                continue
            if value is function:
                raise self.refuse(found.place, f"{name} holds itself as {variable}: call it by its own name")
            free[variable] = self.expression(value, f"{name}.{variable}")
        return free

    def _defaults(self, found: Definition, function: FunctionType) -> list[tuple[ast.expr, str]]:
        """The default values that are no literals, with an expression of what they are."""
        given = found.node.args
        named = [*given.posonlyargs, *given.args]
        values = dict(zip(given.defaults, function.__defaults__ or (), strict=False))
        keywords = function.__kwdefaults__ or {}
        pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        values |= {node: keywords[argument.arg] for argument, node in pairs if node and argument.arg in keywords}
        edits = []
        for node, value in values.items():
            try:
                is_same = repr(ast.literal_eval(node)) == repr(value)
            except ValueError:
                is_same = False
            if not is_same and not isinstance(node, ast.List | ast.Dict | ast.Set):
                edits.append(
                    (node, self.expression(value, f"{function.__name__}.{named[-1].arg if named else ''}.default"))
                )
            elif not is_same:
                edits.append((node, self.expression(value, f"{function.__name__}.default")))
        return edits

    def _define_decorated(self, name: str, value: Any, inner: FunctionType, place: str) -> None:
        """What a package's decorator has made of a function, made again by it."""
        found = self.source(inner.__code__, name)
        self._named(name, value)
        decorators = [node for node in getattr(found.node, "decorator_list", []) if self._is_packages(node)]
        if not decorators:
            return self._run_again(name, value, place)
        self._read(names_in(inner.__code__), inner.__globals__, found.place)
        self.early(set[str]().union(*map(read_by, decorators)), self.main, found.place)
        text, line = _function_text(found, self._defaults(found, inner))
        indent = re.match(r"[ \t]*", text)[0]  # type: ignore[index]
        if indent:
            raise self.refuse(found.place, f"{name} is decorated within a block: define it at the top of a cell")
        text = re.sub(r"(def\s+)\w+", rf"\g<1>{name}", text, count=1)
        above = [f"@{found.cell.segment(node)}\n" for node in decorators]
        self.definitions.append(Part("".join([*above, text, "\n"]), found.cell, line, "".join(above).count("\n")))

    def _is_packages(self, decorator: ast.expr) -> bool:
        names = read_by(decorator)
        return not any(self.is_own(self.main.get(name)) for name in names) and all(n in self.main for n in names)

    def _run_again(self, name: str, value: Any, place: str) -> None:
        """Writes the statement that made a value."""
        found = next(iter(bindings_of(name, self.cells)), None)
        if found is None:
            raise self.refuse(place, f"{name} is a {type_name(value)} that no cell assigns: define it in a cell")
        where = found.cell.place(found.node.lineno)
        self.early(read_by(found.node.value), self.main, where)
        self._named(name, value)
        self.definitions.append(
            Part(f"{name} = {found.cell.segment(found.node.value)}\n", found.cell, found.node.lineno)
        )

    # ---- classes

    def _define_class(self, name: str, cls: type, place: str) -> None:
        if cls.__qualname__ != cls.__name__:
            raise self.refuse(place, f"{self.who} holds a class {cls.__qualname__}: define it at the top of a cell")
        found = self._class_source(cls)
        current = self.main.get(cls.__name__)
        if current is not cls and isinstance(current, type):
            new = self._class_source(current)
            old = f" made by {found.cell.name}" if found and found.cell is not (new and new.cell) else ""
            means = f", and {cls.__name__} means {new.cell.name}'s class now" if new else ""
            raise self.refuse(place, f"{self.who} holds a {cls.__name__}{old}{means}: {RUN_AGAIN}")
        if found is None:
            self._named(name, cls)
            return self._run_again(name, cls, place)
        self._named(name, cls)
        self.early(of_class_statement(found.node).reads - {name}, self.main, found.place)
        node = found.node
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        text = "".join(found.cell.lines[first - 1 : node.end_lineno]).rstrip("\n")
        if text[:1] in " \t":
            raise self.refuse(
                found.place, f"the class {name} is defined within a block: define it at the top of a cell"
            )
        if cls.__name__ != name:
            text = re.sub(rf"^(class\s+){cls.__name__}\b", rf"\g<1>{name}", text, count=1, flags=re.M)
        self.definitions.append(Part(f"{text}\n", found.cell, first))
        self._classes.append((cls, name))
        self._set_class_attributes(name, cls, node)

    def _class_source(self, cls: type) -> Definition | None:
        """The statement that made a class: found by its functions, else the last of its name."""
        for function in functions_of(cls).values():
            found = definition_of(function.__code__, self.cells)
            for node in ast.walk(found.cell.tree) if found else ():
                if (
                    found
                    and isinstance(node, ast.ClassDef)
                    and node.name == cls.__name__
                    and found.node in ast.walk(node)
                ):
                    return Definition(found.cell, node)
        return class_named(cls.__name__, self.cells)

    def _set_class_attributes(self, name: str, cls: type, node: ast.ClassDef) -> None:
        """Attributes that a class was given later, or whose expression may give something else now."""
        written = dict[str, ast.expr | None]()
        for each in node.body:
            targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
            for target in targets:
                if isinstance(target, ast.Name):
                    written[target.id] = getattr(each, "value", None)
        own = {
            each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        is_plain = type(cls) is type and not node.decorator_list and not issubclass(cls, tuple)
        for attribute, held in vars(cls).items():
            is_dunder = attribute.startswith("__") and attribute.endswith("__")
            if is_dunder or (attribute not in self.known.attributes and not self.known.is_opaque):
                continue
            source = written.get(attribute)
            is_same = source is not None and literal(held) != "" and _evaluates(source, held)
            if attribute in own and not self._is_replaced(held, node):
                continue
            if (
                is_same
                or (attribute in written and not is_plain)
                or (hasattr(type(held), "__get__") and attribute in written)
            ):
                continue
            if attribute not in written and (attribute.startswith("_") and not is_plain):
                continue
            if type(held).__name__ in ("member_descriptor", "getset_descriptor") or (not is_plain and _is_made(held)):
                continue
            self._queue_setting(name, attribute, held)

    def _queue_setting(self, name: str, attribute: str, held: Any) -> None:
        text = self.expression(held, f"{name}.{attribute}")
        self.settings.append(Part(f"{name}.{attribute} = {text}\n"))

    def _is_replaced(self, held: Any, node: ast.ClassDef) -> bool:
        """Whether a method is not the one of the class statement."""
        if not isinstance(held, FunctionType):
            return False
        found = definition_of(held.__code__, self.cells)
        return found is not None and all(each is not found.node for each in ast.walk(node))

    def _reach_methods(self) -> bool:
        """Reads the methods of written classes that something may call; whether there were any new ones."""
        is_new = False
        for cls, name in list(self._classes):
            is_plain = all(base is object or self.is_own(base) for base in cls.__mro__)
            for method, function in functions_of(cls).items():
                is_dunder = method.startswith("__") and method.endswith("__")
                is_reached = is_dunder or self.is_opaque or not is_plain or method in self.attributes
                if (
                    not is_reached
                    or (cls, method) in self._methods_done
                    or (method == "__init__" and not self._is_made_anew(cls, name))
                ):
                    continue
                self._methods_done.add((cls, method))
                is_new = True
                names = names_in(function.__code__)
                if function.__globals__ is self.main and definition_of(function.__code__, self.cells):
                    place = self.source(function.__code__, f"{name}.{method}").place
                    self._read(names, self.main, place)
                else:
                    self.attributes |= names.attributes
        return is_new

    def _is_made_anew(self, cls: type, name: str) -> bool:
        """Whether reached code may call a class, and so its ``__init__``."""
        named = {each.id for node in self.nodes for each in ast.walk(node) if isinstance(each, ast.Name)}
        named |= {word for text in self.restarts.values() for word in re.findall(r"\w+", text)}
        is_hidden = self.attributes & {"__init__", "__class__", "__new__"} or "type" in named
        return bool(is_hidden) or name in named or any(isinstance(each, classmethod) for each in vars(cls).values())


def _inner(value: Any) -> FunctionType | None:
    """The function that a decorator of a package holds."""
    if isinstance(value, FunctionType) and not hasattr(value, "__wrapped__"):
        return None
    for name in ("py_func", "__wrapped__", "pyfunc"):
        if isinstance(inner := getattr(value, name, None), FunctionType):
            return inner
    return None


def _is_users(statement: str) -> bool:
    module = sys.modules.get(statement.split()[1])
    return module is not None and own_file(module) is not None


def _defines(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _is_made(held: Any) -> bool:
    """Whether something is a function that a decorator or a metaclass has put into a class."""
    return callable(held) or isinstance(held, property)


def _evaluates(node: ast.expr, held: Any) -> bool:
    try:
        return repr(ast.literal_eval(node)) == repr(held)
    except ValueError:
        return False


def _function_text(found: Definition, edits: list[tuple[ast.expr, str]]) -> tuple[str, int]:
    """The text of a function without its decorators, with other expressions in place of some, and its first line."""
    cell, node = found.cell, found.node
    starts = [0]
    for line in cell.lines:
        starts.append(starts[-1] + len(line))

    def at(line: int, column: int) -> int:
        return starts[line - 1] + len(cell.lines[line - 1].encode()[:column].decode())

    first = at(node.lineno, node.col_offset)
    last = at(node.end_lineno, node.end_col_offset)
    if not isinstance(node, ast.Lambda) and not cell.text[starts[node.lineno - 1] : first].strip():
        first = starts[node.lineno - 1]
    text = cell.text[:last]
    for each, new in sorted(edits, key=lambda edit: at(edit[0].lineno, edit[0].col_offset), reverse=True):
        start, end = at(each.lineno, each.col_offset), at(each.end_lineno or 0, each.end_col_offset or 0)
        text = text[:start] + new + "\n" * cell.text[start:end].count("\n") + text[end:]
    return text[first:], node.lineno
