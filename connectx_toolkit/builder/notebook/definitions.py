"""Writes functions and classes of a notebook or script as code: the source of what ran.

Captured values stand for whatever running it again would make anew: what a closure holds, defaults, attributes that
were set later. Decorators of packages run again; those of the notebook have run, and what they made is a closure.
"""

import ast
import re
from enum import Enum
from types import CodeType, FunctionType
from typing import Any

from connectx_toolkit.builder.notebook.carrying import type_name
from connectx_toolkit.builder.notebook.code_objects import (
    changed_by,
    functions_of,
    is_opaque,
    names_in,
    read_at_once,
    read_by,
    rebound_by,
)
from connectx_toolkit.builder.notebook.ran import Definition, bindings_of, class_named, definition_of
from connectx_toolkit.builder.notebook.writing import Part, Writer

RUN_AGAIN = "run the cell that makes it again"


OF_PYTHON = {"_abc_impl", "_is_protocol", "_is_runtime_protocol"}  # that abc and typing put into classes
CALLING_NONE = {"builtins", "abc", "typing", "collections", "enum"}  # whose classes call no method by a name of its own


class CodeWriter(Writer):
    """A writer that knows where code is."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._classes: list[tuple[type, str]] = []
        self._cells: dict[int, tuple[str, bool]] = {}  # id of a variable -> the function that holds it, and rebinds it
        self._reached: set[tuple[type, str]] = set()

    def define(self, name: str, value: Any, place: str) -> bool:
        inner = _inner(value)
        if isinstance(value, FunctionType) and self.is_own(value):
            self._define_function(name, value)
        elif inner is not None and self.is_own(inner):
            self._define_decorated(name, value, inner, place)
        elif isinstance(value, type) and self.is_own(value):
            self._define_class(name, value, place)
        else:
            return False
        return True

    def define_early(self, value: Any) -> None:
        if isinstance(value, FunctionType) and self.is_own(value):
            self.read(names_in(value.__code__), value.__globals__, self.source(value.__code__, value.__name__))

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
            self.is_opaque |= is_opaque(found.node)
        self.changed |= changed_by(found.node) & names_in(code).reads
        return found

    def _define_function(self, name: str, function: FunctionType) -> None:
        found = self.source(function.__code__, name)
        self.named(name, function)
        if self.is_early:
            self.ready.add(name)
        self.read(names_in(function.__code__), function.__globals__, found)
        self.unfinished.add(id(function))
        text, line = _function_text(found, self._defaults(found, function))
        free = self._closure(name, function)
        self.unfinished.discard(id(function))
        if free or text[:1] in " \t":
            self._define_by_maker(name, found, text, free)
        elif isinstance(found.node, ast.Lambda):
            self.definitions.append(Part(f"{name} = {_bracketed(text)}\n", found.cell, line))
        else:
            renamed = re.sub(r"(def\s+)\w+", rf"\g<1>{name}", text, count=1)
            self.definitions.append(Part(f"{renamed}\n", found.cell, line))
        self._set_attributes(name, function)

    def _define_by_maker(self, name: str, found: Definition, text: str, free: dict[str, str]) -> None:
        """Writes a function that stands in another, or in a block, as what a function gives that has it as it stood."""
        maker = self.fresh(f"make_{name}")
        self.bound[maker] = None
        if isinstance(found.node, ast.Lambda):
            body = f"    return {_bracketed(text)}\n"
        else:
            indent = re.match(r"[ \t]*", text)[0]  # type: ignore[index]
            body = f"{text}\n{indent}return {found.node.name}\n"
        made = f"\n\n{name} = {maker}({', '.join(free.values())})\n"
        part = Part(f"def {maker}({', '.join(free)}):\n{body}{made}", found.cell, found.node.lineno, 1)
        self.definitions.append(part)

    def _set_attributes(self, name: str, value: Any) -> None:
        """Attributes that a function was given."""
        self._note_changes(name, value)
        for attribute, held in vars(value).items():
            if attribute in self.known.attributes and attribute != "__wrapped__":
                text = self.expression(held, f"{name}.{attribute}")
                self.settings.append(Part(f"{name}.{attribute} = {text}\n"))

    def _note_changes(self, name: str, value: Any) -> None:
        if name in self.known.changed and self.main.get(name) is value:
            self.note(f"attributes of {name} change as {self.who} plays: every game starts with what they are now")

    def _closure(self, name: str, function: FunctionType) -> dict[str, str]:
        """Name -> expression of what a function holds of those around it."""
        free = dict[str, str]()
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if value is function and variable == function.__name__:
                continue
            self._note_variable(name, function, variable, cell)
            free[variable] = "None"
            if id(value) in self.unfinished:  # it is put into the cell when both are there
                number = function.__code__.co_freevars.index(variable)
                text = f"{name}.__closure__[{number}].cell_contents = {self.names_by_id[id(value)]}\n"
                self.settings.append(Part(text))
            else:
                free[variable] = self.expression(value, f"{name}.{variable}")
        return free

    def _note_variable(self, name: str, function: FunctionType, variable: str, cell: Any) -> None:
        """Says that a variable changes in play. Raises Refused if another function holds it, too."""
        is_rebound = variable in rebound_by(function.__code__)
        other, was_rebound = self._cells.setdefault(id(cell), (name, is_rebound))
        if other != name and (is_rebound or was_rebound):
            cure = "keep it in a list or an object that both hold"
            raise self.refuse(name, f"{variable} changes as {self.who} plays, and {other} and {name} share it: {cure}")
        if is_rebound:
            self.note(f"{variable} of {name} changes as {self.who} plays: every game starts with what it is now")

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
        self.named(name, value)
        decorators = [node for node in getattr(found.node, "decorator_list", []) if self._is_packages(node)]
        if not decorators:
            return self._run_again(name, value, place)
        self.read(names_in(inner.__code__), inner.__globals__, found)
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
        self.named(name, value)
        self.definitions.append(
            Part(f"{name} = {found.cell.segment(found.node.value)}\n", found.cell, found.node.lineno)
        )

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
            self.named(name, cls)
            return self._run_again(name, cls, place)
        self.named(name, cls)
        self.early(read_at_once(found.node), self.main, found.place)
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
        self._note_changes(name, cls)
        for attribute, held in vars(cls).items():
            is_pythons = attribute in OF_PYTHON or _is_special(attribute)
            is_read = self.known.is_opaque or attribute in self.known.attributes
            if is_read and not is_pythons and not self._is_as_written(cls, attribute, held, node):
                text = self.expression(held, f"{name}.{attribute}")
                self.settings.append(Part(f"{name}.{attribute} = {text}\n"))

    def _is_as_written(self, cls: type, attribute: str, held: Any, node: ast.ClassDef) -> bool:
        """Whether the class statement gives an attribute what it holds now."""
        is_fixed, is_descriptor = issubclass(cls, tuple | Enum), hasattr(type(held), "__get__")
        assigned = _assigned_in(node)
        if attribute in assigned:
            value = assigned[attribute]
            return is_fixed or is_descriptor or (value is not None and _evaluates(value, held))
        if isinstance(held, FunctionType) and (found := definition_of(held.__code__, self.cells)):
            return any(each is found.node for each in ast.walk(node))
        is_in_body = any(getattr(each, "name", "") == attribute for each in node.body)
        is_slot = type(held).__name__ in ("member_descriptor", "getset_descriptor")
        return is_in_body or is_slot or (is_fixed and (attribute.startswith("_") or is_descriptor))

    def reach_methods(self) -> bool:
        """Reads the methods of written classes that something may call; whether there were any new ones."""
        found = [
            (cls, name, method, function)
            for cls, name in self._classes
            for method, function in functions_of(cls).items()
            if (cls, method) not in self._reached and self._is_reached_method(cls, name, method)
        ]
        for cls, name, method, function in found:
            self._reached.add((cls, method))
            names = names_in(function.__code__)
            if function.__globals__ is self.main and definition_of(function.__code__, self.cells):
                self.read(names, self.main, self.source(function.__code__, f"{name}.{method}"))
            else:
                self.attributes |= names.attributes
        return bool(found)

    def _is_reached_method(self, cls: type, name: str, method: str) -> bool:
        """Whether something may call a method: by its name, or a base class of a package that knows it."""
        if method == "__init__":
            return self._is_made_anew(cls, name)
        is_plain = all(base.__module__ in CALLING_NONE or self.is_own(base) for base in cls.__mro__)
        return _is_special(method) or self.is_opaque or not is_plain or method in self.attributes

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


def _bracketed(text: str) -> str:
    return f"({text})" if "\n" in text else text


def _is_special(name: str) -> bool:
    """Whether Python itself, or enum, calls a method of this name."""
    return name.startswith("_") and name.endswith("_")


def _assigned_in(node: ast.ClassDef) -> dict[str, ast.expr | None]:
    """Name -> expression of the assignments in a class statement."""
    found = dict[str, ast.expr | None]()
    for each in node.body:
        targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        found |= dict.fromkeys(names, getattr(each, "value", None))
    return found


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
