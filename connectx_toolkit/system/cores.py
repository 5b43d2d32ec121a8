"""Reserves cores: a game's agents and its referee share a core that no other game uses, which would distort the clocks.

The referee shares the core because it waits while an agent thinks, and waking a process on another core takes longer
than a short move.

Processes can be restricted to a share of a core. Time spent waiting for a core is measured, so that it can be
subtracted. Random generators that agents use are seeded here, too.
"""

import contextlib
import math
import os
import platform
import random
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from connectx_toolkit.system.files import lock_at, unlock
from connectx_toolkit.system.posix import is_own, user

if TYPE_CHECKING:
    from filelock import BaseFileLock


def processor_and_cores() -> str:
    """The processor's name, from the system, and how many cores it has."""
    lines, cores = list[str](), os.cpu_count() or 1
    with contextlib.suppress(OSError):  # not Linux
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]  # none on ARM
    name = next(filter(None, [*models, platform.processor(), platform.machine()]), "unknown processor")
    return f"{name}, {cores} {'core' if cores == 1 else 'cores'}"


def seed_everything(seed: int) -> None:
    """Seeds the global generators of random, and of numpy and torch if they are imported."""
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed % 2**32)
    if (torch := sys.modules.get("torch")) and hasattr(torch, "manual_seed"):  # it may be an agent's own torch.py
        torch.manual_seed(seed)


@contextmanager
def temporary_seed(seed: int) -> Iterator[None]:
    """Seeds the global generators within the block; after it they go on as if nothing had been drawn from them."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    of_python = random.getstate()
    of_numpy, of_torch = numpy and numpy.random.get_state(), torch and torch.get_rng_state()
    seed_everything(seed)
    try:
        yield
    finally:
        random.setstate(of_python)
        if numpy:
            numpy.random.set_state(of_numpy)
        if torch:
            torch.set_rng_state(of_torch)


CGROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
V2, V1 = ("", "cpu.max"), ("cpu", "cpu.cfs_quota_us")  # the kernel's controller and file, of either version


def usable_cores() -> list[int]:
    """The cores that this process may use: no more than a container's quota pays for (``docker --cpus=1``)."""
    cores = all_cores()
    return cores[: max(1, int(min(_quota(), len(cores))))]


def all_cores() -> list[int]:
    """The cores that this process may run on, whatever share of them a quota pays for."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def _quota() -> float:
    """The smallest quota of this process's control groups, in cores; infinity if there is none."""
    try:
        lines = [line.split(":", 2) for line in OWN_GROUPS.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return math.inf
    shares = [math.inf]
    for controller, name in (V2, V1):
        for _, controllers, path in lines:
            if controller in controllers.split(","):
                inside = PurePosixPath(path.lstrip("/"))  # in a container it may be a path outside, where nothing is
                shares += [_quota_in(CGROUPS / controller / group, name) for group in (inside, *inside.parents)]
    return min(shares)


def _quota_in(group: Path, name: str) -> float:
    try:
        words = (group / name).read_text(encoding="ascii").split()
        period = words[1] if len(words) > 1 else (group / "cpu.cfs_period_us").read_text(encoding="ascii")
        return int(words[0]) / int(period) if words[0] not in ("max", "-1") else math.inf
    except (OSError, ValueError, IndexError, ZeroDivisionError):
        return math.inf


def check_concurrency(concurrency: int) -> None:
    """Raises ValueError if there are not enough cores for ``concurrency`` games: on a shared core, clocks are wrong."""
    cores = len(usable_cores())
    if not 1 <= concurrency <= cores:
        raise ValueError(f"workers should be 1 to {cores}, the cores that can be used, not {concurrency}")


class Reserved(NamedTuple):
    """A core and its lock, which the system releases when the process ends, in whatever way."""

    core: int
    lock: "BaseFileLock"


def _locks() -> Path | None:
    """The folder of this user's locks; None if it cannot be made, or another user has put something in its place."""
    folder = Path(tempfile.gettempdir(), f"connectx-{user()}")
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700)
    try:
        status = folder.lstat()
    except OSError:
        return None
    return folder if stat.S_ISDIR(status.st_mode) and is_own(status, 0o022) else None


def reserve_core() -> Reserved | None:
    """Reserves the first core that no other process has reserved; None if there is none, or no place for locks."""
    folder = _locks()
    for core in usable_cores() if folder else ():
        with contextlib.suppress(OSError):
            if (lock := lock_at(Path(f"{folder}/core-{core}"), 0.0)) is not None:
                return Reserved(core, lock)
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
        text = f"{missing} of the {count} parallel games share a core with other runs, which their clocks measure too"
        print(text, file=sys.stderr)
    try:
        yield [core.core for core in reserved] + [None] * missing
    finally:
        for core in reserved:
            unlock(core.lock)


@contextmanager
def core_of_its_own() -> Iterator[None]:
    """Reserves a core and binds this thread to it until the end of the block; does nothing if all are taken."""
    before, reserved = all_cores(), reserve_core() if hasattr(os, "sched_setaffinity") else None
    if reserved is None:
        yield
        return
    try:
        bind(reserved.core)
        yield
    finally:
        os.sched_setaffinity(0, before)
        unlock(reserved.lock)


def share_of_core(share: float) -> dict[str, Any]:
    """Settings of a job of the runner that gets ``share`` of one core: it is stopped and continued."""
    core = {"core": max(os.sched_getaffinity(0))} if hasattr(os, "sched_getaffinity") else {}
    return core | {"duty": share}


def _waits(process: str) -> dict[str, float]:
    """Seconds that each thread of a process was ready to run and waited for a core so far."""
    seconds, tasks, threads = {}, f"/proc/{process}/task", list[str]()
    with contextlib.suppress(OSError):  # it has ended, or this is not Linux
        threads = os.listdir(tasks)
    for thread in threads:
        ended = contextlib.suppress(OSError, ValueError, IndexError)
        with ended, open(f"{tasks}/{thread}/schedstat", "rb", buffering=0) as file:
            seconds[thread] = int(file.read().split()[1]) * 1e-9
    return seconds


def waiting(process: str) -> Callable[[], float]:
    """Begins to measure how long a process waits for a core; the function that it returns tells the seconds since then.

    Threads that wait at the same time delay each other's work only once, so that the one counts that waited longest.
    It is 0.0 where Linux does not tell, and when the process has ended.

    Args:
        process: its id, or "self".
    """
    before = _waits(process)
    return lambda: max((seconds - before.get(thread, 0.0) for thread, seconds in _waits(process).items()), default=0.0)
