"""What a process leaves behind when it forks: the threads of its libraries, and its hold on other devices.

A callable plays in a fork of the present process. Of all threads only the one that forks goes on there, and GNU's
OpenMP, which torch and many others use, then waits for the rest of its pool for ever. Its pools can be ended before
the fork and grow again when they are needed, on either side. LLVM's OpenMP and OpenBLAS do as much by themselves;
numba's parallel functions, JAX and a GPU's tensors cannot be brought along at all.
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
SINGLE = {  # what a library's name contains: what tells it to use so many threads; wheels rename OpenBLAS's functions
    "libgomp": ("omp_set_num_threads",),
    "openblas": tuple(f"{p}openblas_set_num_threads{s}" for p in ("", "scipy_") for s in ("", "64_")),
}
MOST_SEEN = 5000  # objects that an agent refers to, the nearest first; 10 ms
MOST_ITEMS = 200  # of a container
LEAVES = (str, bytes, int, float, complex, type(None), CodeType)
REMEDY = "let it play in this process: isolate=False, one worker"


def _loaded(part: str) -> Iterator[ctypes.CDLL]:
    """The libraries in this process that have ``part`` in their name; none where the system does not list them."""
    with contextlib.suppress(OSError):
        with open("/proc/self/maps") as file:
            paths = {line.split(maxsplit=5)[5].strip() for line in file if part in line}
        for path in sorted(paths):
            with contextlib.suppress(OSError):  # the file has been replaced since
                yield ctypes.CDLL(path)


def end_pools() -> None:
    """Ends this thread's pools of GNU's OpenMP, before a fork. They need 7 ms to end, and come back when needed.

    In a process that was forked itself they may be lost already, and waiting for them would never end.
    """
    if multiprocessing.parent_process() is None:
        for library in _loaded("libgomp"):
            if hasattr(library, "omp_pause_resource_all"):  # since GCC 9
                library.omp_pause_resource_all(OMP_PAUSE_HARD)


def use_one_thread() -> None:
    """Tells what is loaded to use one thread: in a fork that has one core, more are slower, or lost (see above)."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
    for part, names in SINGLE.items():
        for library in _loaded(part):
            for name in names:
                if hasattr(library, name):
                    getattr(library, name)(1)


def obstacle(agent: Callable) -> str:
    """What keeps a fork from running this callable, with the remedy; "" if nothing is seen."""
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
    """Of numba: its threads check that no fork has lost them, and end the process."""
    numba, pool = sys.modules.get("numba"), sys.modules.get("numba.np.ufunc.parallel")
    if numba is None or pool is None or not isinstance(item, numba.core.dispatcher.Dispatcher):
        return ""
    runs = pool._is_initialized and sys.platform == "linux" and numba.threading_layer() == "omp"
    is_parallel = runs and item.targetoptions.get("parallel")
    return f"it uses {item.__name__}, which numba has compiled with parallel=True" if is_parallel else ""


def _of_jax(item: Any) -> str:
    """Whatever it computes waits for threads that were lost."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is None or not bridge.backends_are_initialized():
        return ""
    place = item.__name__ if isinstance(item, ModuleType) else type(item).__module__
    return "it uses JAX, whose threads run already" if place.partition(".")[0] in ("jax", "jaxlib") else ""


def _reached(agent: Callable) -> Iterator[Any]:
    """The callable and what it refers to, the nearest first: as far as its code names it, or its objects hold it."""
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
            with contextlib.suppress(ValueError):  # it is empty yet
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
        with contextlib.suppress(Exception):  # it has no attributes of its own, or guards them
            yield from list(vars(item).values())


def _names(code: CodeType) -> Iterator[str]:
    """The globals that a function's code reads, those of the functions within it too; attributes are none."""
    yield from (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
