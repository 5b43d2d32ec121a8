import right.inner as other
from numba import njit

STEP = 1


@njit(cache=True)
def step(x):
    return x + STEP


@njit
def both(x):
    return other.step(x) + STEP
