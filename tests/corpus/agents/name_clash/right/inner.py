from __future__ import annotations

from numba import njit

STEP = 10


@njit(nogil=True, cache=True, fastmath=False)
def step(x):
    return x + STEP
