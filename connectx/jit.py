"""numba where it works, plain Python where it does not: the same source runs either way.

Kaggle's judge may lack numba, or hold one that imports and cannot compile. Modules write their kernels once, with

- ``@njit`` on the few entry points that Python calls in a hurry. ``plain(kernel)`` is the same function uncompiled,
- ``@jitable`` on everything that kernels call: plain Python for the interpreter, compiled inside a kernel,
- ``popcount`` for the number of set bits, and ``int_array`` for the tables and stacks that a kernel works on.

Kernels compute on int64. No stone ever reaches bit 63 of a board that fits 64 bits, so shifts to the right and
comparisons mean the same for a compiled int64 and for Python's unbounded int; sums that wrap in one and grow in the
other are masked before use.
"""

import sys
from typing import Any

import numpy as np


def _identity(function):
    return function


def _load_numba():
    """The numba module, or None where it is absent or cannot compile (the reason then goes to stderr)."""
    try:
        import numba

        if numba.njit(lambda x: x + 1)(1) != 2:
            raise RuntimeError("numba miscompiles x + 1")
        return numba
    except Exception as fault:  # anything: a broken llvmlite raises what it likes
        print(f"connectx: numba is not usable, searching in plain Python: {fault!r:.200}", file=sys.stderr)
        return None


numba = _load_numba()
COMPILED = numba is not None


def popcount(bits):
    """Number of set bits of a non-negative integer."""
    return bits.bit_count()


njit: Any = numba.njit if COMPILED else _identity
jitable: Any = _identity

if COMPILED:
    from numba.core import types
    from numba.extending import intrinsic, overload, register_jitable

    jitable = register_jitable(forceinline=True)

    @intrinsic
    def _ctpop(typingctx, bits):
        def codegen(context, builder, signature, args):
            return builder.ctpop(args[0])

        return types.int64(types.int64), codegen

    @overload(popcount, inline="always")
    def _popcount(bits):
        def one_instruction(bits):
            return _ctpop(bits)  # type: ignore[call-arg]

        return one_instruction


def plain(kernel):
    """The uncompiled Python function of a kernel."""
    return getattr(kernel, "py_func", kernel)


def int_array(size, compiled=COMPILED):
    """``size`` zeros for a kernel to work on: int64 (size,), or a list if not compiled: Python is faster on those."""
    return np.zeros(size, np.int64) if compiled else [0] * size
