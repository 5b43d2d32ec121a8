"""Writes what a running function needs as a file: the source of its code, and the values that it reaches, as of now.

A ``Writer`` follows the names that the function's code reads. Nothing that ran runs again but imports, definitions and
the decorators of packages; those of the notebook have run, and what they made is a closure. What code is given as it
is defined (defaults, variables around it) and what it was given later (attributes) are values as well.
"""

import ast
import contextlib
import copy
import difflib
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import _lru_cache_wrapper
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from connectx_toolkit.builder.notebook.carrying import LEFT_OUT, NAMED_TYPES, Uncarried, Values, literal_of, type_name
from connectx_toolkit.builder.notebook.definitions import (
    as_called,
    defaults_of,
    in_brackets,
    indent_of,
    inner_function,
    is_as_written,
    is_special,
    owner_in,
    rename_definition,
)
from connectx_toolkit.builder.notebook.facts import acts_on_modules, filled_caches, of_process
from connectx_toolkit.builder.notebook.imports import Imports, is_builtin, unavailable_package
from connectx_toolkit.builder.notebook.own_modules import changed_in, edited_in, own_file, own_modules
from connectx_toolkit.builder.notebook.page import ONLY_THERE, SETTING
from connectx_toolkit.builder.notebook.ran import (
    Definition,
    RanCell,
    binding_of,
    class_source,
    definition_of,
)
from connectx_toolkit.builder.notebook.reads import BUILTINS, DUNDERS, names_beside, reads_of
from connectx_toolkit.builder.notebook.written import AGENT_PY
from connectx_toolkit.builder.source.refusals import Refusal, Refused
from connectx_toolkit.builder.source.text import apply_edits

# Of these, equal ones are as good as the same.
UNNAMED: Any = int | float | complex | str | bytes | tuple | frozenset | type(None)
CARRIED = "_carried"
EDITED = "runs here as its file was before it was edited: reload the file, or build it"
AT_THE_TOP = "define it at the top of a cell"
PRIVATE = re.compile(r"\b__\w*[^\W_]\b")  # self.__side, which Python calls _Bot__side in a class Bot


class Part(NamedTuple):
    """Statements of the file, and the places of its lines, "" where they have none."""

    text: str
    places: Sequence[str] = ()


def part_of(text: str, found: Definition, line: int = 0, above: int = 0) -> Part:
    """A part whose lines, but for the first ``above``, come from a cell: from ``line``, or where ``found`` begins."""
    count, line = text.count("\n") + 1 - above, line or found.node.lineno
    return Part(text, [""] * above + [found.cell.place(line + number) for number in range(count)])


@dataclass
class Writer:
    """What a function needs, as a file.

    Attributes:
        main: the names of the notebook or script.
        who: the agent's name for people.
        parts: by the name that each binds, in the order of the file.
        settings: what is set when all names are bound.
        facts: what the notebook has and the file has not -> whether it touches what the agent uses.
        state: what may change as the agent plays: label -> a function that gives it.
    """

    main: dict[str, Any]
    who: str
    cells: list[RanCell]
    parts: dict[str, Part] = field(default_factory=dict)
    settings: list[Part] = field(default_factory=list)
    facts: dict[str, bool] = field(default_factory=dict)
    state: dict[str, Callable[[], Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bound: set[str] = set()
        self.names_by_id: dict[int, str] = {}
        self.carried = Values(self.name_of, unavailable_package, self._note_fact)
        self.imports = Imports(self.cells)
        self._alive: list[Any] = []  # or an id could be another's
        self._reads: dict[str, dict[str, str]] = {}  # name -> the names that it reads when it is called, and where
        self._perhaps: set[str] = set()  # of these names, whose reads need not be there
        self._owed: list[str] = []  # names of what was written, whose reads are not yet bound
        self._cells: list[tuple[str, Any, str]] = []  # name of a variable of functions, its value, its path
        self._missing: dict[str, str] = {}  # name that nothing binds -> where it is read
        self._stored: set[str] = set()  # names that code binds when it is called

    def _note_fact(self, fact: str, is_used: bool = True) -> None:
        self.facts[fact] = is_used

    def refuse(self, place: str, reason: str) -> Refused:
        return Refused([Refusal(Path(AGENT_PY), 1, reason, place)])

    def write_rest(self) -> None:
        """Writes all that is still owed."""
        self._write_owed()
        self._follow_cells()
        self._write_owed()
        self._tell_caches()
        for name, place in self._missing.items():
            if name in self._stored:
                self.state[name] = lambda name=name: self.main.get(name)  # type: ignore[misc]
                continue
            beside = names_beside(name, (cell.tree for cell in self.cells))
            close = difflib.get_close_matches(name, [*beside, *self.main], 1)
            meant = f"did you mean {close[0]}? " if close else ""
            meant = "Kaggle runs it without IPython: leave that out. " if name in ONLY_THERE else meant
            reason = f"{self.who} reads {name}, which no cell defines now: {meant}"
            raise self.refuse(place, f"{reason}Define it, or run the cell that does")

    def _write_owed(self) -> None:
        while self._owed or self._cells:
            if self._owed:
                owner = self._owed.pop(0)
                for name, place in self._reads[owner].items():
                    self.need_name(name, place, owner in self._perhaps)
            else:
                name, value, path = self._cells.pop(0)
                self.settings.append(Part(f"{name}.cell_contents = {self.expression(value, path)}"))

    def _follow_cells(self) -> None:
        """Sets what cells set in packages, and what the user's own modules have unlike their files; tells the rest."""
        self.imports.for_their_effects()
        imported = {statement.split()[1].partition(".")[0] for statement in self.imports.statements}
        changed = self._changes_of_modules()
        known = {name for _, name, _ in changed}
        for act, package, last in acts_on_modules(self.main, self.cells):
            is_used = package in imported
            if (is_used or last == "setrecursionlimit") and SETTING.fullmatch(last):
                self.need_all_now(self._names_in(act.node.value), act.place)
                self.settings.append(part_of(act.text, act))
            elif last not in known:
                self._note_fact(f"{act.place} does not come along: {' '.join(act.text.split()):.100}", is_used)
        for owner, name, held in changed:
            self._set_attributes(self.name_of(owner), owner, {name: held})

    def _changes_of_modules(self) -> list[tuple[Any, str, Any]]:
        """What the user's own modules have unlike their files. Raises Refused for functions that have been edited."""
        modules = own_modules(statement.split()[1] for statement in self.imports.statements)
        for module in modules:
            for name in edited_in(module)[:1]:
                raise self.refuse(self.who, f"{name} of {module.__name__} {EDITED}")
        return [change for module in modules for change in changed_in(module)]

    def _tell_caches(self) -> None:
        """Those that held results: a file's begin empty."""
        named = [*self.main.items(), *((held.__name__, held) for held in self._alive if isinstance(held, NAMED_TYPES))]
        classes = [(name, held) for name, held in named if isinstance(held, type) and self.is_own(held)]
        named += [(f"{name}.{key}", held) for name, cls in classes for key, held in vars(cls).items()]
        for fact, name, held in filled_caches(named, self.cells):
            self._note_fact(fact, name.partition(".")[0] in self.bound or id(held) in self.names_by_id)

    def need_name(self, name: str, place: str, is_perhaps: bool = False) -> None:
        """Binds a name of the notebook in the file. ``is_perhaps``: it is left out if no file can hold its value."""
        if name in self.bound or name in DUNDERS or (self._is_pythons(name) and name not in ONLY_THERE):
            return
        if name not in self.main:
            if not is_perhaps:
                self._missing.setdefault(name, place)
            return
        if is_perhaps and isinstance(self.main[name], NAMED_TYPES) and unavailable_package(self.main[name]):
            return
        try:
            self._bind(name, self.main[name], place)
        except Refused as fault:
            if not is_perhaps:
                raise
            self._note_fact(f"{name} {LEFT_OUT}: {fault}")

    def need_all_now(self, names: Iterable[str], place: str) -> None:
        """Binds names that are read as the file is loaded, and first all that is read when they are called."""
        names, done = {*names}, set[str]()
        pending = sorted(names)
        while pending:
            if (name := pending.pop()) not in done:
                done.add(name)
                if name in names:
                    self.need_name(name, place)
                elif name in self.main:
                    with contextlib.suppress(Refused):  # run() says it, if it matters
                        self.need_name(name, place)
                pending += sorted(self._reads.get(name, ()))

    def is_own(self, value: Any) -> bool:
        """Whether a function or class is of the notebook or script itself."""
        if isinstance(value, FunctionType):
            return value.__globals__ is self.main
        return isinstance(value, type) and value.__module__ == self.main.get("__name__")

    def _bind(self, name: str, value: Any, place: str) -> None:
        self.bound.add(name)
        try:
            if id(value) in self.names_by_id:
                self.parts[name] = Part(f"{name} = {self.names_by_id[id(value)]}")
            elif not self.is_own(value) and self.imports.as_cells_do(name, value):
                self.bind_name(name, value)
            elif isinstance(value, FunctionType) and self.is_own(value):
                self._define_function(name, value)
            elif (inner := inner_function(value)) and self.is_own(inner) and not self.is_own(type(value)):
                self._define_decorated(name, value, inner, place)
            elif isinstance(value, type) and self.is_own(value):
                self._define_class(name, value, place)
            elif isinstance(value, NAMED_TYPES):
                self._import(name, value, place)
            else:
                self._write_value(name, value, place)
        except Refused:  # another may need it less
            self.bound.discard(name)
            self.parts.pop(name, None)
            if self.names_by_id.get(id(value)) == name:
                del self.names_by_id[id(value)]
            raise

    def _is_pythons(self, name: str) -> bool:
        """Whether a name is that of a builtin in the notebook, also where IPython has put its own in its place."""
        held: Any = self.main.get(name)
        return name in BUILTINS and (name not in self.main or (is_builtin(held) and held.__name__ == name))

    def bind_name(self, name: str, value: Any) -> None:
        """From now on the name stands for the value in the file."""
        if not isinstance(value, UNNAMED):
            self.names_by_id.setdefault(id(value), name)
            self._alive.append(value)

    def values_by_name(self) -> dict[str, Any]:
        """What the file's names stand for in the notebook."""
        known = {id(value): value for value in self._alive}
        return self.main | {name: known[key] for key, name in self.names_by_id.items() if key in known}

    def _import(self, name: str, value: Any, place: str) -> None:
        text = self.imports.by_place(name, value)
        if text is None:
            is_method = not isinstance(getattr(value, "__self__", None), ModuleType | None)  # a list's append
            return (self._write_value if is_method else self._define_assigned)(name, value, place)
        if text:
            self.parts[name] = Part(text)
        self.bind_name(name, value)

    def name_of(self, value: Any) -> str:
        """The name in the file of a function, class or module that a value holds."""
        if is_builtin(value) and self._is_pythons(value.__name__):
            return value.__name__
        if id(value) in self.names_by_id:
            return self.names_by_id[id(value)]
        stem = getattr(value, "__name__", "").rpartition(".")[2]
        is_here = self.main.get(stem) is value
        name = stem if is_here else "" if isinstance(value, ModuleType) else owner_in(self.main, value)
        if name:
            self.need_all_now([name], self.who)
        else:
            name = self.fresh_name(stem if stem.isidentifier() else "function")
            self._bind(name, value, self.who)
        return name

    def fresh_name(self, stem: str) -> str:
        """A name that neither the file nor the notebook has."""
        stem = f"_{stem.strip('_')}"
        names = (f"{stem}{number or ''}" for number in range(len(self.bound) + len(self.main) + 2))
        return next(name for name in names if name not in self.bound and name not in self.main)

    def expression(self, value: Any, path: str) -> str:
        """Python's text for a value."""
        if isinstance(value, NAMED_TYPES):
            return self.name_of(value)
        if id(value) in self.names_by_id:
            return self.names_by_id[id(value)]
        if isinstance(value, staticmethod | classmethod):
            return f"{type(value).__name__}({self.expression(value.__func__, path)})"
        if type(value) is property:
            parts = (self.expression(each, path) for each in (value.fget, value.fset, value.fdel))
            return f"property({', '.join(parts)})"
        text = literal_of(value)
        if not text and (text := owner_in(self.main, value)):
            self.need_name(text, path)
        return text or self._carry(path, value, path)

    def _carry(self, key: str, value: Any, place: str) -> str:
        key = f"{key} {len(self.carried.roots)}" if key in self.carried.roots else key
        try:
            self.carried.add(key, value, key)
        except Uncarried as fault:
            cure = "" if ": " in str(fault) else ": make it inside a function, or hold plain values"
            raise self.refuse(place, f"{self.who} needs a value that no file can hold: {fault}{cure}") from None
        return f"{CARRIED}[{key!r}]"

    def _write_value(self, name: str, value: Any, place: str) -> None:
        text, binding = f"{name} = {literal_of(value) or self._carry(name, value, place)}", binding_of(name, self.cells)
        self.bind_name(name, value)
        self.state[name] = lambda: self.main.get(name)
        self.parts[name] = part_of(text, binding) if binding else Part(text)

    def _names_in(self, node: ast.AST) -> set[str]:
        """The names of the notebook that an expression reads, also when it is called."""
        reads = reads_of(ast.Expr(node))  # type: ignore[arg-type]
        return {name for name in reads.now | reads.later if name in self.main or name not in BUILTINS}

    def _note_reads(self, name: str, found: Definition, variables: Iterable[str] = (), is_class: bool = False) -> None:
        """Takes note of what a definition reads when it is called, or its methods are. ``variables``: around it."""
        reads = reads_of(found.node if is_class else as_called(found.node, variables), has_lazy=True)
        names = reads.later | reads.called & self.main.keys()
        self._reads[name] = {each: found.place_of(each) for each in sorted(names)}
        self._stored |= reads.called
        for fact in of_process(found, self.main):
            self._note_fact(fact)
        self._owed.append(name)
        self._perhaps |= {name} if is_class else set()

    def _find_definition(self, function: FunctionType, name: str) -> Definition:
        """Where a function is written. Raises Refused if that is nowhere."""
        definition = definition_of(function.__code__, self.cells)
        if definition is None:
            if not function.__code__.co_filename.startswith("<"):
                raise self.refuse(name, f"{name} {EDITED}")
            why = "was made by exec, or typed at Python's prompt (>>>), so nothing keeps its source"
            raise self.refuse(name, f"{name} {why}: write it into a cell or a file, and run that")
        return definition

    def _define_function(self, name: str, function: FunctionType) -> None:
        definition = self._find_definition(function, name)
        self.bind_name(name, function)
        text = self._function_text(name, definition, function)
        if function.__closure__ or indent_of(text):
            self._define_by_maker(name, definition, text, function)
        elif isinstance(definition.node, ast.Lambda):
            self.parts[name] = part_of(f"{name} = {in_brackets(text)}", definition)
        else:
            self.parts[name] = part_of(rename_definition(text, name), definition)
        self._note_reads(name, definition, function.__code__.co_freevars)
        self._set_attributes(name, function, vars(function))

    def _function_text(self, name: str, found: Definition, function: FunctionType) -> str:
        """A function's text without decorators, with what its defaults are now unless that is what their text gives."""
        source, node = found.cell.source, found.node
        changed = [(each, self.expression(held, f"{name}.{of}")) for of, each, held in defaults_of(node.args, function)]
        start, end = source.span(node)
        indent = source.text[source.offset(node.lineno) : start]
        start -= 0 if isinstance(node, ast.Lambda) or indent.strip() else len(indent)
        edits = [(*source.span(each), text + "\n" * source.of(each).count("\n")) for each, text in changed]
        return apply_edits(source.text[start:end], [(first - start, last - start, text) for first, last, text in edits])

    def _define_by_maker(self, name: str, found: Definition, text: str, function: FunctionType) -> None:
        """Writes a function that stands in another, or in a block, as what a function gives that has it as it stood."""
        variables, cells = function.__code__.co_freevars, self._cells_around(name, function)
        maker = self.fresh_name(f"make_{name}")
        self.bound.add(maker)
        body = f"    return {in_brackets(text)}"
        if not isinstance(found.node, ast.Lambda):
            body = f"{text}\n{indent_of(text)}return {found.node.name}"
        made = f"{maker}({', '.join(['None'] * len(variables))})"
        made = f"_with_cells({', '.join([made, *cells])})" if cells else made
        self.parts[name] = part_of(f"def {maker}({', '.join(variables)}):\n{body}\n\n\n{name} = {made}", found, above=1)

    def _cells_around(self, name: str, function: FunctionType) -> list[str]:
        """The names of the variables around a function, which other functions may have, too; they are filled last."""
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if id(cell) not in self.names_by_id:
                label = self.fresh_name(f"{variable}_of_{name}")
                self.bound.add(label)
                self.bind_name(label, cell)
                self.parts[label] = Part(f"{label} = _Cell()")
                with contextlib.suppress(ValueError):  # it is empty
                    self._cells.append((label, cell.cell_contents, f"{name}.{variable}"))
                    self.state[f"{variable} of {name}"] = lambda cell=cell: cell.cell_contents  # type: ignore[misc]
                self.imports.statements["from types import CellType as _Cell"] = None
                self.imports.statements["from connectx_core.carried import with_cells as _with_cells"] = None
        return [self.names_by_id[id(cell)] for cell in function.__closure__ or ()]

    def _set_attributes(self, name: str, value: Any, attributes: dict[str, Any]) -> None:
        """Attributes that a function or class was given later; what no file can hold is left out."""
        self.state[f"attributes of {name}"] = lambda: {
            key: held for key, held in vars(value).items() if not is_special(key) and not isinstance(held, NAMED_TYPES)
        }
        for attribute, held in attributes.items():
            if not is_special(attribute) and attribute != "cache_parameters":  # of lru_cache
                try:
                    text = self.expression(held, f"{name}.{attribute}")
                    self.settings.append(Part(f"{name}.{attribute} = {text}"))
                except Refused as fault:
                    self._note_fact(f"{name}.{attribute} {LEFT_OUT}: {fault}")

    def _define_decorated(self, name: str, value: Any, inner: FunctionType, place: str) -> None:
        """What a package's decorator has made of a function, made again by it."""
        if hasattr(value, "dispatch"):
            raise self.refuse(place, f"{name} is a singledispatch function: choose by isinstance in one function")
        definition = self._find_definition(inner, name)
        self.bind_name(name, value)
        decorators = [node for node in getattr(definition.node, "decorator_list", []) if self._is_packages(node)]
        anew = None if decorators else binding_of(name, self.cells)
        is_again = bool(decorators) or (anew is not None and name in self._names_in(anew.node.value))
        if isinstance(value, _lru_cache_wrapper) and (not is_again or definition.node.col_offset):
            return self._define_cache(name, value)
        if not is_again:
            return self._define_assigned(name, value, place)
        text = self._function_text(name, definition, inner)
        if indent_of(text):
            raise self.refuse(definition.place, f"{name} is decorated within a block: {AT_THE_TOP}")
        self._note_reads(name, definition)
        for node in [*decorators, *([anew.node.value] if anew else [])]:
            self.need_all_now(self._names_in(node), definition.place)
        self.need_all_now(self._reads[name], definition.place)  # some decorators compile, and look for what is read
        above = "".join(f"@{definition.cell.source.of(node)}\n" for node in decorators)
        self.parts[name] = made = part_of(above + rename_definition(text, name), definition, above=above.count("\n"))
        if anew:  # score = njit(score)
            line = part_of(f"{name} = {in_brackets(anew.cell.source.of(anew.node.value))}", anew)
            self.parts[name] = Part(f"{made.text}\n\n\n{line.text}", [*made.places, "", "", *line.places])
        if isinstance(value, _lru_cache_wrapper):
            self._set_attributes(name, value, vars(value))

    def _define_cache(self, name: str, value: Any) -> None:
        """A cache that a decorator of the notebook's, or one within a function, has put around a function."""
        inner = self.name_of(value.__wrapped__)
        self.imports.statements["from functools import lru_cache as _lru_cache"] = None
        given = ", ".join(f"{key}={held}" for key, held in value.cache_parameters().items())
        self.parts[name] = Part(f"{name} = _lru_cache({given})({inner})")
        self._set_attributes(name, value, vars(value))

    def _is_packages(self, decorator: ast.expr) -> bool:
        return all(name in self.main and not self.is_own(self.main[name]) for name in self._names_in(decorator))

    def _define_assigned(self, name: str, value: Any, place: str) -> None:
        """A function or class that an assignment made, which is made again."""
        binding = binding_of(name, self.cells)
        if binding is None:
            raise self.refuse(place, self._why_no_source(name, value))
        self.bind_name(name, value)
        self.need_all_now(self._names_in(binding.node.value), binding.place)
        self.parts[name] = part_of(f"{name} = {in_brackets(binding.cell.source.of(binding.node.value))}", binding)
        if isinstance(value, type) and not issubclass(value, tuple | Enum):
            later = {key: held for key, held in vars(value).items() if not hasattr(type(held), "__get__")}
            self._set_attributes(name, value, later)

    def _why_no_source(self, name: str, value: Any) -> str:
        """Why a function or class that no cell assigns cannot be written, and what to do."""
        module, stem = getattr(value, "__module__", None), getattr(value, "__name__", name)
        if isinstance(value, FunctionType) and value.__code__.co_filename.startswith("<"):
            return f"{stem} was made by exec: write it into a cell"
        if own_file(sys.modules.get(module or "")):
            return f"{name} is of {module} before its reload: import it again"
        return f"{name} is a {type_name(value).removeprefix('builtins.')} that no cell assigns: define it in a cell"

    def _define_class(self, name: str, cls: type, place: str) -> None:
        if cls.__qualname__ != cls.__name__:
            raise self.refuse(place, f"{self.who} holds a class {cls.__qualname__}: {AT_THE_TOP}")
        definition = class_source(cls, self.cells)
        self.bind_name(name, cls)
        if definition is None:
            return self._define_assigned(name, cls, place)
        node, source = copy.copy(definition.node), definition.cell.source
        node.decorator_list = [each for each in node.decorator_list if self._is_packages(each)]
        reads = reads_of(node, has_lazy=True)
        self.need_all_now(reads.now - reads.perhaps - {cls.__name__}, definition.place)
        above = "".join(f"@{source.of(each)}\n" for each in node.decorator_list)
        text = "\n".join(source.lines[node.lineno - 1 : node.end_lineno])
        if indent_of(text):
            raise self.refuse(definition.place, f"the class {name} is defined within a block: {AT_THE_TOP}")
        if name != cls.__name__ and (private := PRIVATE.search(text)):
            why = f"{name} is a {cls.__name__} of before, with a private {private[0]}"
            raise self.refuse(definition.place, f"{why}: run the cell that makes its objects again")
        hook = getattr(vars(cls).get("__init_subclass__"), "__func__", None)
        if hook and (read := sorted({*hook.__code__.co_names} & self.main.keys())):
            why = f"{name}.__init_subclass__ uses {', '.join(read)} as each class is made"
            raise self.refuse(definition.place, f"{why}: list the classes where they are all defined")
        self.parts[name] = part_of(above + rename_definition(text, name), definition, node.lineno, above.count("\n"))
        if name != cls.__name__:
            self.settings.append(Part(f"{name}.__name__ = {cls.__name__!r}"))
        self._note_reads(name, definition, is_class=True)
        later = {key: held for key, held in vars(cls).items() if not is_as_written(cls, key, held, node, self.cells)}
        self._set_attributes(name, cls, later)
