"""Values that an agent brings from a notebook: tables, weights, objects of its own classes. No code is loaded.

An .npz file holds two arrays of bytes: under ``MEMORY`` what all arrays hold, those that share memory once, and under
``VALUES`` JSON in UTF-8: ``roots``, a reference for each name, and ``nodes``, a list. A reference is a number, a text,
a truth value or null, which stand for themselves, or a list:

    ["@", i]        node i; two references to it are one object      ["n", name]  what the agent's file binds to a name
    ["t", ...]      a tuple                                          ["z", ...]   a frozenset
    ["b", hex]      bytes                                            ["c", a, b]  a complex number
    ["s", dtype, x] a number of numpy's                              ["i", text]  a long integer, to base 16
    ["d", key, value, ...]  attributes

and a node is one of

    ["list", ...]  ["set", ...]  ["dict", key, value, ...]  ["bytearray", hex]
    ["array", dtype, shape, offset, strides]       an array in the memory; strides are null where they are C's
    ["objects", shape, ...]                        an array of objects
    ["call", f, arguments, state, items, pairs]    what f, a reference, gives for the arguments; then, as Python's
                                                   copying does it, its state, list items and dict pairs
    ["new", class, arguments, state, items, pairs] the same with class.__new__

Functions and classes are never in the file: they are names of the agent's own source.
"""

import ast
import builtins
import io
import json
from collections import OrderedDict, deque
from collections.abc import Mapping
from functools import cache
from operator import attrgetter
from types import CellType, FunctionType
from typing import Any

import numpy as np

VALUES, MEMORY = "values", "memory"  # names of the arrays
PLAIN = (str, int, float, bytes, type(None))
FILLED = (OrderedDict, dict, deque, list, set)  # whose own methods fill subclasses: theirs may count what comes


class Carried:
    """The values of a file, each made when it is asked for by its name. ``made``: objects by their nodes.

    Args:
        content: the .npz file.
        names: what the references ["n", name] stand for, looked up when a value is made: the agent's ``globals()``.

    Raises:
        ValueError: it is no such file.
    """

    def __init__(self, content: bytes, names: Mapping[str, Any]):
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            if VALUES not in file.files:
                raise ValueError(f"no carried values: the file has no array {VALUES!r}")
            read, self._memory = json.loads(file[VALUES].tobytes()), file[MEMORY]
        self._roots, self._nodes, self._names = read["roots"], read["nodes"], names
        self.made: dict[int, Any] = {}
        # Objects that are made and still without their contents, which may lead back to them; keys are hashed last.
        self._unfilled: list[tuple[Any, list[Any]]] = []
        self._unkeyed: list[tuple[Any, list[tuple[Any, ...]]]] = []

    def __getitem__(self, name: str) -> Any:
        value = self._value(self._roots[name])
        self._fill()
        return value

    def _value(self, ref: Any) -> Any:
        if not isinstance(ref, list):
            return ref
        kind = ref[0]
        if kind == "@":
            return self.made[ref[1]] if ref[1] in self.made else self._make(ref[1])
        if kind == "b":
            return bytes.fromhex(ref[1])
        parts = ref[1:]
        if kind == "n":
            first, _, rest = parts[0].partition(".")
            held = self._names[first] if first in self._names else getattr(builtins, first)
            return attrgetter(rest)(held) if rest else held
        if kind == "d":
            return {key: self._value(value) for key, value in zip(parts[::2], parts[1::2], strict=True)}
        if kind in ("t", "z"):
            return (tuple if kind == "t" else frozenset)(map(self._value, parts))
        if kind == "s":
            return np.dtype(parts[0]).type(parts[1])
        if kind == "i":
            return int(parts[0], 16)
        return complex(*parts)

    def _make(self, number: int) -> Any:
        """Makes the object of a node; what it holds is left to ``_fill``."""
        kind, *parts = self._nodes[number]
        if kind == "array":
            dtype, shape, offset, strides = parts
            made: Any = np.ndarray(shape, _dtype(dtype), self._memory, offset, strides)
        elif kind in ("list", "set", "dict"):
            made = {"list": list, "set": set, "dict": dict}[kind]()
        elif kind == "bytearray":
            made = bytearray.fromhex(parts[0])
        elif kind == "objects":
            made = np.empty(parts[0], object)
        else:
            function, arguments = self._value(parts[0]), [self._value(ref) for ref in parts[1]]
            self._fill()  # a function sees its arguments whole
            made = function.__new__(function, *arguments) if kind == "new" else function(*arguments)
        self.made[number] = made
        if kind not in ("array", "bytearray"):
            self._unfilled.append((made, self._nodes[number]))
        return made

    def _fill(self) -> None:
        while self._unfilled or self._unkeyed:
            if self._unfilled:
                self._fill_one(*self._unfilled.pop())
            else:
                _add(*self._unkeyed.pop())

    def _fill_one(self, made: Any, node: list[Any]) -> None:
        kind, *parts = node
        if kind == "list":
            made.extend(map(self._value, parts))
        elif kind == "objects":
            for place, ref in zip(np.ndindex(made.shape), parts[1:], strict=True):
                made[place] = self._value(ref)
        elif kind == "set":
            self._enter(made, [(self._value(ref),) for ref in parts])
        elif kind == "dict":
            self._enter(made, self._pairs(parts))
        elif kind in ("call", "new"):
            _, _, state, items, pairs = parts
            self._set_state(made, state)
            for item in items:
                _base(made).append(made, self._value(item))
            self._enter(made, self._pairs(pairs))

    def _pairs(self, parts: list[Any]) -> list[tuple[Any, ...]]:
        return [(self._value(k), self._value(v)) for k, v in zip(parts[::2], parts[1::2], strict=True)]

    def _enter(self, made: Any, entries: list[tuple[Any, ...]]) -> None:
        """Adds elements, (element,), or pairs, (key, value), as soon as what is hashed is whole."""
        if all(isinstance(entry[0], PLAIN) for entry in entries):
            _add(made, entries)
        else:
            self._unkeyed.append((made, entries))

    def _set_state(self, made: Any, ref: Any) -> None:
        if ref is None:
            return
        state = self._value(ref)
        if hasattr(type(made), "__setstate__"):
            self._fill()
            made.__setstate__(state)
            return
        attributes, slots = state if isinstance(state, tuple) else (state, None)
        if attributes:
            vars(made).update(attributes)
        for name, value in (slots or {}).items():
            object.__setattr__(made, name, value)


def _base(made: Any) -> Any:
    return next((base for base in FILLED if isinstance(made, base)), type(made))


def _add(made: Any, entries: list[tuple[Any, ...]]) -> None:
    base = _base(made)
    for entry in entries:
        if len(entry) == 1:
            base.add(made, *entry)
        else:
            base.__setitem__(made, *entry)


@cache
def _dtype(text: str) -> np.dtype:
    return np.lib.format.descr_to_dtype(ast.literal_eval(text))


def with_cells(function: FunctionType, *cells: CellType) -> FunctionType:
    """The function with these variables around it, in the order of its ``__code__.co_freevars``."""
    made = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    return made
