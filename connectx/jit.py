"""Kernels that numba compiles where it works, and that run as plain Python where it does not.

Kaggle's judge may lack numba, or have one that can be imported but cannot compile. Modules write their kernels once:

- ``@njit`` marks the few entry points that have to be fast. ``plain(kernel)`` is the same function uncompiled,
- ``@jitable`` marks everything that kernels call, defined above them: plain Python when Python calls it, compiled
  inside a kernel,
- ``popcount`` counts set bits, and ``int_array`` makes the tables and stacks that a kernel works on.

The first kernel loads numba; without any, an agent makes its first move in 0.2 s instead of 1.1 s.

Kernels compute on int64. On a board that fits 64 bits no stone reaches bit 63, so that right shifts and comparisons
give the same for a compiled int64 and for Python's unbounded int. Sums, which overflow only in int64, are masked before
use.
"""

import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

_waiting: list[Callable] = []  # marked as jitable, not yet registered with numba
_loading = threading.Lock()  # a board and a cell of a notebook may be the first at once


def jitable(function):
    """Marks a function that kernels call; the function itself is unchanged."""
    _waiting.append(function)
    return function


def njit(function) -> Any:
    """Marks a kernel: compiled at its first call, or unchanged where numba does not work.

    A compiled kernel releases the interpreter's lock (GIL): other Python threads run meanwhile.
    """
    with _loading:
        numba = load_numba()
        if numba is None:
            return function
        while _waiting:
            numba.extending.register_jitable(forceinline=True)(_waiting.pop())
    return numba.njit(nogil=True)(function)


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
        print(f"connectx: numba is not usable, searching in plain Python: {fault!r:.200}", file=sys.stderr)
        return None


def compiles() -> bool:
    """Whether kernels are compiled here."""
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
