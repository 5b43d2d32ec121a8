"""numba where it works, plain Python where it does not: the same source runs either way.

Kaggle's judge may lack numba, or hold one that imports and cannot compile. Modules write their kernels once, with

- ``@njit`` on the few entry points that Python calls in a hurry. ``plain(kernel)`` is the same function uncompiled,
- ``@jitable`` on everything that kernels call, above them: plain Python for the interpreter, compiled inside a kernel,
- ``popcount`` for the number of set bits, and ``int_array`` for the tables and stacks that a kernel works on.

numba is loaded by the first kernel: an agent without any makes its first move in 0.2 s instead of 1.1 s.

Kernels compute on int64. No stone ever reaches bit 63 of a board that fits 64 bits, so shifts to the right and
comparisons mean the same for a compiled int64 and for Python's unbounded int; sums that wrap in one and grow in the
other are masked before use.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

_waiting: list[Callable] = []  # marked as jitable, and not registered yet


def jitable(function):
    """Marks a function that kernels call; it stays as it is."""
    _waiting.append(function)
    return function


def njit(function) -> Any:
    """Marks a kernel: compiled with its first call, and left as it is where numba does not work.

    While it runs compiled, other threads of Python run, too.
    """
    numba = load_numba()
    if numba is None:
        return function
    while _waiting:
        numba.extending.register_jitable(forceinline=True)(_waiting.pop())
    return numba.njit(nogil=True)(function)


@cache
def load_numba() -> Any:
    """The numba module, or None where it is absent or cannot compile (the reason then goes to stderr)."""
    try:
        import numba

        if numba.njit(lambda x: x + 1)(1) != 2:
            raise RuntimeError("numba miscompiles x + 1")
        _overload_popcount(numba)
        return numba
    except Exception as fault:  # anything: a broken llvmlite raises what it likes
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
    """In kernels a popcount is one instruction."""

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
    """``size`` zeros for a kernel to work on: int64 (size,), or a list if not compiled: Python is faster on those."""
    return np.zeros(size, np.int64) if compiled else [0] * size
