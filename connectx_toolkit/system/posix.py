"""What Linux and macOS have and Windows lacks: forks, groups of processes, owners of files, the C library by name.

Each has a substitute here. Nothing else of the toolkit asks which system it runs on.
"""

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

HAS_FORK = hasattr(os, "fork")
PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Process(Protocol):
    """What ``end`` needs of a process."""

    pid: int


class Forked:
    """A forked process, with the part of subprocess.Popen's interface that is used of an agent's process.

    Args:
        waitpid: asks the process's parent, where that is not this process.
    """

    def __init__(self, pid: int, waitpid: Callable[[int, int], tuple[int, int]] | None = None):
        self.pid = pid
        self.code: int | None = None
        self._waitpid = waitpid or os.waitpid

    def poll(self) -> int | None:
        return self._exit_code(os.WNOHANG)

    def wait(self) -> int | None:
        return self._exit_code(0)

    def _exit_code(self, options: int) -> int | None:
        if self.code is None:
            pid, status = self._waitpid(self.pid, options)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code


@cache
def c_function(name: str) -> Callable[..., int] | None:
    """A function of the C library, which sets ctypes' errno; None where there is none of this name."""
    try:
        return getattr(ctypes.CDLL(None, use_errno=True), name, None)
    except TypeError:  # Windows has no library of everything
        return None


def signal_name(number: int) -> str:
    """ "SIGKILL"; "signal 35" of one without a name."""
    return signal.Signals(number).name if number in {*signal.Signals} else f"signal {number}"


def end(process: Process) -> None:
    """Kills a process and, where processes have groups, whatever it has started."""
    if not _signal_group(process, "SIGKILL"):
        process.kill()  # type: ignore[attr-defined]  # where there are no groups, it is a Popen


def pause(process: Process) -> None:
    """Suspends a process and what it has started; where that is impossible, it goes on."""
    _signal_group(process, "SIGSTOP")


def resume(process: Process) -> None:
    """Undoes ``pause``."""
    _signal_group(process, "SIGCONT")


def _signal_group(process: Process, name: str) -> bool:
    """Sends a signal to a process and its group, either of which may be gone; False where there are no groups."""
    if not hasattr(os, "killpg"):
        return False
    for send in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            send(process.pid, getattr(signal, name))
    return True


def user() -> str:
    """What tells this user's files in a folder for all users from others'; "" where each user has a folder."""
    return str(os.getuid()) if hasattr(os, "getuid") else ""


def is_own(found: os.stat_result, forbidden: int) -> bool:
    """Whether a file is this user's and has none of the permissions ``forbidden``; where files have no owners, yes."""
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & forbidden)


def with_slashes(path: str, system: Any = os.path) -> str:
    """A path with slashes, and in one spelling where capitals make no difference: "c:/users/me". ``system``: of paths.

    >>> import ntpath
    >>> slashed(r"C:\\Users\\Me", ntpath)
    'c:/users/me'
    """
    return system.normcase(path).replace(system.sep, "/")


def link(source: str | Path, target: str | Path) -> None:
    """Makes ``target`` a symbolic link to a file, or a copy of it where a user may make no links."""
    try:
        os.symlink(source, target)
    except OSError:
        Path(target).write_bytes(Path(source).read_bytes())


def without_groups(options: dict[str, Any]) -> dict[str, Any]:
    """Options of Popen without those that Windows refuses; there, as elsewhere, Ctrl-C does not reach the process."""
    if HAS_FORK:
        return options
    import subprocess  # an agent's process does without

    kept = {name: value for name, value in options.items() if name not in ("pass_fds", "preexec_fn")}
    return kept | {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}


def die_with_parent(sign: str = "SIGKILL") -> None:
    """Asks Linux to signal this process when the thread that started it ends, so that it does not outlive a killed run.

    Elsewhere a process ends when it next waits for its parent and finds the connection closed.
    """
    if prctl := c_function("prctl"):
        prctl(PR_SET_PDEATHSIG, getattr(signal, sign))
