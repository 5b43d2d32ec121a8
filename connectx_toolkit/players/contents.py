"""What determines the play of a live function, as a digest: its code, and the values that this code reaches.

Two functions with the same code and other weights are two agents, and so is one before and after more training. Values
count as they are now: arrays and tensors by their numbers, instances by their attributes, functions by their code.
"""

import array
import dis
import functools
import io
import logging
import mmap
import random
import sys
import types
import weakref
from _ctypes import CFuncPtr  # compiled code, whose source is elsewhere
from collections import deque
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any

PLAIN = (  # whose repr tells all
    type(None), type(...), type(NotImplemented), bool, int, float, complex, str, bytes, bytearray, range, PurePath,
    types.UnionType, types.GenericAlias,
)  # fmt: skip
BY_NAME = (  # what has no content that a move depends on, or none of its own: seeds are set before every game
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, io.IOBase, logging.Logger, logging.Handler, random.Random, weakref.ref, CFuncPtr,
)  # fmt: skip
LOCKS = ("_thread", "threading")  # nor has what these define
UNSEEN = (  # attributes of a class
    "__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__firstlineno__", "__static_attributes__",
    "__slotnames__",  # by which copyreg remembers
)  # fmt: skip
OF_VALUES = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR")  # steps that name an attribute
MOST_VALUES = 1_000_000
Sources = Callable[[str | None], Iterable[Path] | None]


class Unknown(ValueError):
    """A value's content cannot be seen, such as a generator's; the text names its type."""


def digest_of(function: Any, sources: Sources) -> str:
    """The digest.

    Args:
        sources: of a module's name, its files if it is the user's own; None if it is Python's or an installed one.

    Raises:
        Unknown: the function reaches something whose content cannot be seen.
    """
    contents = _Contents(sources)
    try:
        contents.add(function)
    except RecursionError:
        raise Unknown("values that are nested too deep") from None
    return contents.digest.hexdigest()


class _Contents:
    """The digest while it grows. A value that comes again is its number, so that circles end."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.digest = sha256()
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []  # so that no other value gets the same id

    def _write(self, *words: object) -> None:
        for word in words:
            content = word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogatepass")
            self.digest.update(b"%d:" % len(content) + content)

    def add(self, value: Any) -> None:
        kind = type(value)
        self._write(kind.__module__, kind.__qualname__)
        if isinstance(value, PLAIN):
            self._write(value if isinstance(value, bytes) else repr(value))
        elif (number := self.numbers.get(id(value))) is not None:
            self._write("again", number)
        else:
            self.numbers[id(value)] = len(self.kept)
            self.kept.append(value)
            if len(self.kept) > MOST_VALUES:
                raise Unknown(f"more than {MOST_VALUES:,} values")
            self._add_new(value)

    def _add_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.add(value)

    def _add_new(self, value: Any) -> None:
        match value:
            case types.FunctionType():
                self._add_function(value)
            case types.CodeType():
                self._write(value.co_code, value.co_names, value.co_varnames, value.co_freevars)
                self._add_all(value.co_consts)
            case type():
                self._add_class(value)
            case types.ModuleType():
                self._write(value.__name__, *(file.read_bytes() for file in self.sources(value.__name__) or ()))
            case types.MethodType():
                self._add_all((value.__func__, value.__self__))
            case types.CellType():
                self._add_all(_held(value))
            case functools.partial():
                self._add_all((value.func, value.args, value.keywords))
            case types.MappingProxyType():
                self.add(dict(value))
            case mmap.mmap() | memoryview() | array.array():
                self._write(bytes(value))
            case property():
                self._add_all((value.fget, value.fset))
            case set() | frozenset():  # in an order that does not depend on the hashes of strings
                self._write(*sorted(digest_of(each, self.sources) for each in value))
            case _ if isinstance(value, BY_NAME) or type(value).__module__ in LOCKS:
                self._write(getattr(value, "__module__", ""), getattr(value, "__qualname__", ""))
            case _:
                self._add_data(value)

    def _add_function(self, function: types.FunctionType) -> None:
        self._write(function.__module__, function.__qualname__)
        self._add_all((function.__defaults__, function.__kwdefaults__, function.__closure__, vars(function)))
        if self.sources(function.__module__) is not None:
            code, names = function.__code__, function.__globals__
            self.add(code)
            for name in sorted(_names_of(code) & names.keys()):
                self._write(name)
                self.add(names[name])

    def _add_class(self, kind: type) -> None:
        """A class of the user's by what it defines; any other by its name."""
        self._write(kind.__module__, kind.__qualname__)
        if self.sources(kind.__module__) is not None:
            self._add_all(kind.__bases__)
            for name, value in sorted(vars(kind).items()):
                if name not in UNSEEN and not name.startswith("_abc_"):
                    self._write(name)
                    self.add(value)

    def _add_data(self, value: Any) -> None:
        """Containers, arrays, tensors and instances."""
        if _is_of("numpy", "ndarray", value) and not value.dtype.hasobject:
            self._write(value.dtype, value.shape, value.tobytes())
        elif _is_of("torch", "Tensor", value):
            self._write(value.dtype, tuple(value.shape), _bytes_of(value))
        elif isinstance(value, dict | list | tuple | deque):
            parts = (part for item in value.items() for part in item) if isinstance(value, dict) else value
            self._add_all(parts)
            self._add_all((getattr(value, "default_factory", None), getattr(value, "__dict__", None)))
        else:
            self._add_all(_state_of(value))


def _state_of(value: Any) -> list[Any]:
    """What ``copy`` would make an instance of again: its class, arguments and attributes. Raises Unknown."""
    for name in ("py_func", "__wrapped__", "__func__"):  # of numba's, of functools' caches, of static methods
        if (wrapped := getattr(value, name, None)) is not None:
            return [wrapped]
    try:
        found = value.__reduce_ex__(4)
    except Exception:  # their code may raise anything
        raise Unknown(f"a {type(value).__name__}") from None
    if isinstance(found, str):  # a name in its module
        return [found]
    return [list(part) if hasattr(part, "__next__") else part for part in found]


def _names_of(code: types.CodeType) -> set[str]:
    """The names that a code and the functions in it may look up; obs.board looks up no board."""
    inner = (_names_of(each) for each in code.co_consts if isinstance(each, types.CodeType))
    steps = (step for step in dis.get_instructions(code) if step.opcode in dis.hasname)
    return {step.argval for step in steps if step.opname not in OF_VALUES}.union(*inner)


def _held(cell: types.CellType) -> list[Any]:
    """What a cell of a closure holds; [] before its variable is set."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


def _is_of(package: str, name: str, value: Any) -> bool:
    kind = getattr(sys.modules.get(package), name, None)
    return kind is not None and isinstance(value, kind)


def _bytes_of(tensor: Any) -> bytes:
    """The numbers of a tensor of any type, bfloat16 included. Raises Unknown if it has no plain array of them."""
    import torch

    try:
        return tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
    except (RuntimeError, TypeError) as problem:
        raise Unknown(f"a {type(tensor).__name__} ({problem})") from None
