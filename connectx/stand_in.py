"""numba as an agent's own modules see it in a submission that holds machine code of their functions.

The builder lets ``import numba`` in them lead here. ``njit`` and ``jit`` give functions that run their machine code
(``connectx.machine_code``), and import numba where there is none for what they are called with. Everything else of
numba is numba's own, imported when it is asked for.
"""

import inspect
import json
import threading
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from connectx import machine_code
from connectx.jit import Kernel, load_numba
from connectx.machine_code import Call, Wanted, kind_of

STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
# Options that change nothing, or what is in the code. With another one a function is numba's from the start.
OPTIONS = {"boundscheck", "cache", "error_model", "fastmath", "inline", "nogil", "nopython", "parallel"}

if __package__ != "connectx" and not machine_code.embedded():
    import numba  # noqa: F401 (an agent may do without: it catches the ImportError)


def __getattr__(name: str) -> Any:
    if name in ("jit", "njit"):
        return decorator(name, Function)
    if name.startswith("__"):  # what Python asks of a module that it imports
        raise AttributeError(name)
    import numba

    return getattr(numba, name)


def decorator(name: str, kind: Callable[..., Any]) -> Callable:
    """numba's ``jit`` or ``njit``, but that functions become a ``kind``."""

    def decorate(*given: Any, **options: Any) -> Any:
        options = options | ({"nopython": True} if name == "njit" else {})
        if not options.keys() <= OPTIONS:
            from numba.core.decorators import jit

            return jit(*given, **options)
        if given and isinstance(given[0], FunctionType):
            return kind(given[0], given[1:], options)
        return lambda function: kind(function, given, options)

    return decorate


class Calls(threading.local):
    """What runs a function's code in this thread, by the kinds of the arguments; None where there is no code."""

    def __init__(self) -> None:
        self.found: dict[tuple, Call | None] = {}


class Function(Kernel):
    """A function of an agent under ``njit`` or ``jit``. It has the attributes of numba's, too.

    Args:
        given: signatures, as for numba.
        options: as for numba.
    """

    def __init__(self, function: Callable, given: Sequence, options: dict[str, Any]):
        super().__init__(function)
        self._given, self._options, self._calls = given, options, Calls()
        code = function.__code__
        self._count = -1 if code.co_flags & STARRED or code.co_kwonlyargcount else code.co_argcount  # of its arguments

    def __call__(self, *args: Any, **named: Any) -> Any:
        given = args if len(args) == self._count and not named else self.positional(args, named)
        if given is not None:
            kinds = tuple(map(kind_of, given))
            try:
                call = self._calls.found[kinds]
            except KeyError:
                call = self._new_call(kinds, given)
            if call is not None:
                return call.unchecked(given)
        return self.original(*args, **named)

    @cached_property
    def dispatcher(self) -> Any:
        if load_numba() is None:
            return None
        from numba.core.decorators import jit

        return jit(*self._given, **self._options)(self.py_func)

    def original(self, *args: Any, **named: Any) -> Any:
        """The result by numba, or by Python where numba does not work."""
        return (self.dispatcher or self.py_func)(*args, **named)

    def positional(self, args: tuple, named: dict[str, Any]) -> tuple | None:
        """All arguments by position; None if they don't fit."""
        names, defaults = self.py_func.__code__.co_varnames[: self._count], self.py_func.__defaults__ or ()
        if len(args) > self._count or named.keys() & {*names[: len(args)]}:
            return None
        values = dict(zip(reversed(names), reversed(defaults), strict=False)) | named
        values |= dict(zip(names, args, strict=False))
        return tuple(values[name] for name in names) if values.keys() == {*names} else None

    def wanted(self, args: tuple) -> Wanted:
        """The code for such arguments; it is tried with the example that came with it."""
        options = f"{self._given} {sorted((self._options | {'cache': False}).items())}"  # the builder sets it
        wanted = Wanted(self.py_func, args, lambda run: tried(run, machine_code.embedded()[example]), False, options)
        example = f"{wanted.key}.example"
        return wanted

    def _new_call(self, kinds: tuple, args: tuple) -> Call | None:
        """What runs the code for such arguments in this thread; None if there is none."""
        code = None
        with suppress(Exception):  # whatever a function closes over, numba can still compile it
            code = None if None in kinds else machine_code.code_for(self.wanted(args))
        is_alone = not self._options.get("nogil")
        self._calls.found[kinds] = None if code is None else Call(self.original, code, args, is_alone)
        return self._calls.found[kinds]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __reduce__(self) -> str:
        return self.__qualname__


def as_text(values: Sequence) -> bytes:
    """Arguments or results of a function: numbers, arrays, None, tuples. Raises TypeError if there is another value."""

    def array(value: Any) -> dict[str, str]:
        if not isinstance(value, np.ndarray | np.generic):
            raise TypeError(f"{type(value).__name__} as an example")
        order = "C" if value.flags.c_contiguous else "F"
        return {"array": value.tolist(), "dtype": value.dtype.str, "order": order}

    return json.dumps(values, default=array).encode()


def from_text(text: bytes) -> tuple:
    """The values of ``as_text``."""

    def array(value: dict[str, Any]) -> Any:
        return np.array(value["array"], value["dtype"], order=value["order"])[()]

    def as_tuple(value: Any) -> Any:
        return tuple(map(as_tuple, value)) if isinstance(value, list) else value

    return as_tuple(json.loads(text, object_hook=array))


def tried(run: Callable, example: bytes) -> list[int]:
    """A number that tells what a function returns for an example, and what it writes into its arguments."""
    args = from_text(example)
    return [zlib.crc32(as_text([run(*args), args]))]
