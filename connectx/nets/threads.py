"""One thread for numpy's matrix products: a search's are small, and threads that wait for each other cost most of it.

With two threads on two busy cores a search made 15 evaluations a second, with one thread 520. Kaggle's machine may show
more cores than an agent gets. The library itself is told, because the variables of the environment count only before
numpy is imported, and Kaggle has imported it by then.
"""

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

# What OpenBLAS calls its functions, in the builds of numpy, of scipy and of systems; {} is "get" or "set".
NAMES = [f"{prefix}openblas_{{}}_num_threads{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "")]


@cache
def thread_functions() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """The functions that tell and set the number of threads, of each OpenBLAS that is loaded; [] off Linux."""
    found = []
    with contextlib.suppress(OSError):
        maps = Path("/proc/self/maps").read_text().splitlines()
        for path in sorted({line.split()[-1] for line in maps if "openblas" in line}):
            library = ctypes.CDLL(path)
            found += [
                (getattr(library, name.format("get")), getattr(library, name.format("set")))
                for name in NAMES
                if hasattr(library, name.format("set"))
            ][:1]
    return found


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Within it OpenBLAS computes in the calling thread alone; afterwards as before."""
    before = [get() for get, _ in thread_functions()]
    try:
        for _, put in thread_functions():
            put(1)
        yield
    finally:
        for count, (_, put) in zip(before, thread_functions(), strict=True):
            put(count)
