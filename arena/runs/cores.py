"""Cores: a game's agents and its referee share one that no other game has, or their clocks would measure the others.

Sharing one core also suits the referee, which waits while an agent thinks: waking a process on another core takes
longer than a short move.
"""

import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


def usable_cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def check_concurrency(concurrency: int) -> None:
    """Raises ValueError unless every game at a time gets a core to itself: a shared core makes clocks lie."""
    cores = len(usable_cores())
    if not 1 <= concurrency <= cores:
        raise ValueError(f"concurrency should be 1 to {cores}, the cores that can be used, not {concurrency}")


class Reserved(NamedTuple):
    """A core, and the lock that says who has it: the system frees it when the process ends, however it ends."""

    core: int
    lock: int  # file descriptor


def reserve_core() -> Reserved | None:
    """The first core that no other process has reserved; None if there is none."""
    for core in usable_cores():
        path = os.path.join(tempfile.gettempdir(), f"connectx-core-{os.getuid()}-{core}")
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return Reserved(core, lock)
        except BlockingIOError:
            os.close(lock)
    return None


def bind(core: int) -> None:
    """Binds this thread, and the processes that it starts from now on, to a core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


@contextmanager
def cores_apart(count: int) -> Iterator[list[int | None]]:
    """So many cores that no other run has until the end of the block.

    None stands for each that is missing: other runs have it, which is said on standard error, or the system cannot bind
    a process to a core.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield [None] * count
        return
    reserved = [core for core in (reserve_core() for _ in range(count)) if core is not None]
    if missing := count - len(reserved):
        text = f"{missing} of {count} games at a time share cores with other runs, and their clocks measure those too"
        print(text, file=sys.stderr)
    try:
        yield [core.core for core in reserved] + [None] * missing
    finally:
        for core in reserved:
            os.close(core.lock)


@contextmanager
def core_of_its_own() -> Iterator[None]:
    """Binds this thread to a core until the end of the block; where all are taken, nothing is bound."""
    before, reserved = usable_cores(), reserve_core()
    if reserved is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    try:
        bind(reserved.core)
        yield
    finally:
        os.sched_setaffinity(0, before)
        os.close(reserved.lock)
