"""What a forked process lacks: the threads of its libraries, and access to other devices.

A callable plays in a fork of the current process, where only the thread that forks exists. The rule: functions with
numpy and with torch on the CPU play in a fork; all else that has threads or a device of its own (a GPU, JAX, numba's
``parallel=True``) plays with ``isolate=False`` and one worker, in this process.

torch and many others use GNU's OpenMP, which would wait for the missing threads for ever. So its pools are ended before
the fork; both processes start new ones when needed. LLVM's OpenMP and OpenBLAS do this by themselves. JAX would wait
for ever, too: while it runs, no callable is played in a fork. A GPU's libraries and numba fail by themselves.
"""

import contextlib
import ctypes
import sys
from collections.abc import Iterator

OMP_PAUSE_HARD = 2  # omp.h: the pool ends
SINGLE = {  # part of a library's name: functions that set its number of threads; wheels rename those of OpenBLAS
    "libgomp": ("omp_set_num_threads",),
    "openblas": tuple(f"{p}openblas_set_num_threads{s}" for p in ("", "scipy_") for s in ("", "64_")),
}
REMEDY = "isolate=False and one worker let it play in this process"
NEEDS_THIS_PROCESS = "a GPU, JAX and numba's parallel=True need isolate=False"


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
    import multiprocessing  # here alone: an agent's process does without

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


def obstacle() -> str:
    """Why no callable of this process can be played in a fork, with the remedy; "" if nothing is known against it."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is None or not bridge.backends_are_initialized():
        return ""
    return f"JAX runs in this process, and a copy of it would wait for JAX's threads for ever: {REMEDY}"
