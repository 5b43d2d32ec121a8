"""Kernels: machine code where it is at hand, compiled by numba where not, plain Python where numba does not work.

Kaggle's judge may lack numba, or have one that can be imported but cannot compile; and to compile takes seconds of the
first move. Modules write their kernels once:

- ``@njit`` marks the few entry points that have to be fast. ``plain(kernel)`` is the same function uncompiled,
- ``@jitable`` marks everything that kernels call, defined above them: plain Python when Python calls it, compiled
  inside a kernel,
- ``popcount`` counts set bits, and ``int_array`` makes the tables and stacks that a kernel works on.

``connectx_core.machine_code`` prepares a kernel without numba, where its machine code is at hand. numba is imported
when something has to be compiled, and not before.

Kernels compute on int64. On a board that fits 64 bits no stone reaches bit 63, so that right shifts and comparisons
give the same for a compiled int64 and for Python's unbounded int. Sums, which overflow only in int64, are masked before
use.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, update_wrapper
from typing import Any

# What the toolkit sets, where it is loaded: gives the machine code that this computer keeps of a ``Wanted`` kernel.
kept: Callable[[Any], bytes | None] | None = None
noted: list[list[Any]] = []  # what the blocks of ``noting`` have noted, the innermost last
_waiting: list[Callable] = []  # marked as jitable, not yet registered with numba
_loading = threading.RLock()  # a board and a cell of a notebook may be the first at once


def jitable(function):
    """Marks a function that kernels call; the function itself is unchanged."""
    _waiting.append(function)
    return function


def njit(function) -> "Kernel":
    """Marks a kernel: compiled when it is first called or prepared, or plain Python where numba does not work.

    A compiled kernel releases the interpreter's lock (GIL): other Python threads run meanwhile.
    """
    return Kernel(function)


class Kernel:
    """A function that can be called as it is, and from other kernels.

    Attributes:
        py_func: the plain Python function.
    """

    def __init__(self, function: Callable):
        update_wrapper(self, function)
        self.py_func = function

    def __call__(self, *args: Any) -> Any:
        return (self.dispatcher or self.py_func)(*args)

    @cached_property
    def dispatcher(self) -> Any:
        """numba's function that compiles; None where numba does not work."""
        with _loading:
            numba = load_numba()
            if numba is None:
                return None
            while _waiting:
                numba.extending.register_jitable(forceinline=True)(_waiting.pop())
            return numba.njit(nogil=True)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """How numba takes a kernel that another one calls."""
        return self.dispatcher._numba_type_


@contextmanager
def noting() -> Iterator[list[Any]]:
    """In the block, kernels that are prepared are noted as ``Wanted``, and run as plain Python."""
    noted.append([])
    try:
        yield noted[-1]
    finally:
        noted.pop()


@cache
def load_numba() -> Any:
    """The numba module, or None if it is missing or cannot compile (the reason is printed to stderr)."""
    try:
        import numba

        if numba.njit(lambda x: x + 1)(1) != 2:
            raise RuntimeError("numba miscompiles x + 1")
        _overload_popcount(numba)
        return numba
    except Exception as fault:  # a broken llvmlite may raise any exception
        print(f"connectx_core: numba is not usable, searching in plain Python: {fault!r:.200}", file=sys.stderr)
        return None


def compiles() -> bool:
    """Whether numba works here."""
    return load_numba() is not None


def plain(kernel):
    """The uncompiled Python function of a kernel."""
    return getattr(kernel, "py_func", kernel)


def popcount(bits):
    """Number of set bits of a non-negative integer."""
    return bits.bit_count()


def _overload_popcount(numba) -> None:
    """Makes popcount a single instruction inside kernels."""

    @numba.extending.intrinsic
    def ctpop(typingctx, bits):
        def codegen(context, builder, signature, args):
            return builder.ctpop(args[0])

        return numba.types.int64(numba.types.int64), codegen

    @numba.extending.overload(popcount, inline="always")
    def in_kernels(bits):
        def one_instruction(bits):
            return ctpop(bits)

        return one_instruction


def int_array(size, compiled):
    """``size`` zeros for a kernel to work on: int64 (size,), or a list if not compiled, which is faster in Python."""
    if not compiled:
        return [0] * size
    import numpy as np

    return np.zeros(size, np.int64)
