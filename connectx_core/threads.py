"""One thread for numpy's matrix products: an agent's are small, and threads that wait for each other cost most of it.

With two threads on two busy cores a search made 15 evaluations a second, with one thread 520. Kaggle's machine may show
more cores than an agent gets. The library itself is told, because the variables of the environment count only before
numpy is imported, and Kaggle has imported it by then.
"""

import contextlib
import ctypes
import threading
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
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
        for shared in sorted({line.split()[-1] for line in maps if "openblas" in line}):
            library = ctypes.CDLL(shared)
            found += [
                (getattr(library, name.format("get")), getattr(library, name.format("set")))
                for name in NAMES
                if hasattr(library, name.format("set"))
            ][:1]
    return found


_lock = threading.Lock()
_before: list[list[int]] = []  # the numbers of threads to go back to, once for each context that is open


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Within it OpenBLAS computes in the calling thread alone; after the last one as before the first."""
    with _lock:
        _before.append([get() for get, _ in thread_functions()] if not _before else _before[0])
        _set_counts([1] * len(thread_functions()))
    try:
        yield
    finally:
        with _lock:
            counts = _before.pop()
            if not _before:
                _set_counts(counts)


def _set_counts(counts: list[int]) -> None:
    for count, (_, put) in zip(counts, thread_functions(), strict=True):
        put(count)
