"""What a forked process lacks: the threads of its libraries, and access to other devices.

A callable plays in a fork of the current process. Only the thread that forks exists there, and GNU's OpenMP, which
torch and many others use, then waits for the other threads of its pool for ever. So its pools are ended before the
fork; both processes start new ones when needed. LLVM's OpenMP and OpenBLAS do this by themselves. numba's parallel
functions, JAX and tensors on a GPU cannot be used in a fork at all.
"""

import contextlib
import ctypes
import dis
import multiprocessing
import sys
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

OMP_PAUSE_HARD = 2  # omp.h: the pool ends
SINGLE = {  # part of a library's name: functions that set its number of threads; wheels rename those of OpenBLAS
    "libgomp": ("omp_set_num_threads",),
    "openblas": tuple(f"{p}openblas_set_num_threads{s}" for p in ("", "scipy_") for s in ("", "64_")),
}
MOST_SEEN = 5000  # objects that an agent refers to, nearest first; examining them takes 10 ms
MOST_ITEMS = 200  # examined in a container
LEAVES = (str, bytes, int, float, complex, type(None), CodeType)
REMEDY = "let it play in this process: isolate=False, one worker"


def _loaded(part: str) -> Iterator[ctypes.CDLL]:
    """The libraries loaded in this process with ``part`` in their path; none if the system does not list them."""
    with contextlib.suppress(OSError):
        with open("/proc/self/maps") as file:
            paths = {line.split(maxsplit=5)[5].strip() for line in file if part in line}
        for path in sorted(paths):
            with contextlib.suppress(OSError):  # the file has been replaced since
                yield ctypes.CDLL(path)


def end_pools() -> None:
    """Ends this thread's GNU OpenMP pools before a fork, in 7 ms. They start again when needed.

    Does nothing in a process that was forked itself: the pool's threads may be missing there, and waiting for them
    would never end.
    """
    if multiprocessing.parent_process() is None:
        for library in _loaded("libgomp"):
            if hasattr(library, "omp_pause_resource_all"):  # since GCC 9
                library.omp_pause_resource_all(OMP_PAUSE_HARD)


def use_one_thread() -> None:
    """Makes the loaded libraries use one thread: a fork has one core, where more are slower or missing (see above)."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
    for part, names in SINGLE.items():
        for library in _loaded(part):
            for name in names:
                if hasattr(library, name):
                    getattr(library, name)(1)


def obstacle(agent: Callable) -> str:
    """Why a fork cannot run this callable, with the remedy; "" if no reason is found."""
    for item in islice(_reached(agent), MOST_SEEN):
        if problem := _on_a_device(item) or _parallel(item) or _of_jax(item):
            return f"{problem}, which a process of its own cannot use: {REMEDY}"
    return ""


def _on_a_device(item: Any) -> str:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(item, torch.Tensor) or item.device.type in ("cpu", "meta"):
        return ""
    return f"it uses a tensor on {item.device} (model.cpu() brings a model back)"


def _parallel(item: Any) -> str:
    """For numba: its threading layer notices that it runs in a fork, and ends the process."""
    numba, pool = sys.modules.get("numba"), sys.modules.get("numba.np.ufunc.parallel")
    if numba is None or pool is None or not isinstance(item, numba.core.dispatcher.Dispatcher):
        return ""
    runs = pool._is_initialized and sys.platform == "linux" and numba.threading_layer() == "omp"
    is_parallel = runs and item.targetoptions.get("parallel")
    return f"it uses {item.__name__}, which numba has compiled with parallel=True" if is_parallel else ""


def _of_jax(item: Any) -> str:
    """For JAX: every computation waits for threads that do not exist in the fork."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is None or not bridge.backends_are_initialized():
        return ""
    place = item.__name__ if isinstance(item, ModuleType) else type(item).__module__
    return "it uses JAX, whose threads run already" if place.partition(".")[0] in ("jax", "jaxlib") else ""


def _reached(agent: Callable) -> Iterator[Any]:
    """The callable and what it refers to, by names in its code or as parts of other objects; nearest first."""
    pending, seen = deque[Any]([agent]), set[int]()
    while pending:
        item = pending.popleft()
        if id(item) not in seen and not isinstance(item, LEAVES):
            seen.add(id(item))
            yield item
            pending.extend(_neighbours(item))


def _neighbours(item: Any) -> Iterator[Any]:
    if isinstance(item, FunctionType):
        yield from (item.__globals__[name] for name in _names(item.__code__) if name in item.__globals__)
        yield from item.__defaults__ or ()
        for cell in item.__closure__ or ():
            with contextlib.suppress(ValueError):  # the cell is still empty
                yield cell.cell_contents
    elif isinstance(item, MethodType):
        yield from (item.__func__, item.__self__)
    elif isinstance(item, dict):
        yield from islice(item.values(), MOST_ITEMS)
    elif isinstance(item, list | tuple | set):
        yield from islice(item, MOST_ITEMS)
    elif isinstance(item, partial):
        yield from (item.func, *item.args, *item.keywords.values())
    elif not isinstance(item, type | ModuleType):
        with contextlib.suppress(Exception):  # it has no __dict__, or does not allow access to it
            yield from list(vars(item).values())


def _names(code: CodeType) -> Iterator[str]:
    """The names of globals that a function and the functions inside it read; attributes are not included."""
    yield from (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
