"""Reserves cores: a game's agents and its referee share a core that no other game uses, which would distort the clocks.

The referee shares the core because it waits while an agent thinks, and waking a process on another core takes longer
than a short move.
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
    """Raises ValueError if there are not enough cores for ``concurrency`` games: on a shared core, clocks are wrong."""
    cores = len(usable_cores())
    if not 1 <= concurrency <= cores:
        raise ValueError(f"concurrency should be 1 to {cores}, the cores that can be used, not {concurrency}")


class Reserved(NamedTuple):
    """A core and its lock, which the system releases when the process ends, in whatever way."""

    core: int
    lock: int  # file descriptor


def reserve_core() -> Reserved | None:
    """Reserves the first core that no other process has reserved; None if there is none."""
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
    """Binds this thread, and the processes that it starts from now on, to a core, if the system supports that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


@contextmanager
def cores_apart(count: int) -> Iterator[list[int | None]]:
    """Reserves ``count`` cores until the end of the block.

    The list has None in place of each core that is not available: because other runs have reserved it, which is printed
    to standard error, or because the system cannot bind a process to a core.
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
    """Reserves a core and binds this thread to it until the end of the block; does nothing if all are taken."""
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
