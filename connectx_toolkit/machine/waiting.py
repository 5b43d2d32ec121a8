"""How long a process has waited for a core: time that its work did not take."""

import contextlib
from collections.abc import Callable
from pathlib import Path


def _waits(process: str) -> dict[str, float]:
    """Seconds that each thread of a process was ready to run and waited for a core so far."""
    found = {}
    for file in Path(f"/proc/{process}/task").glob("*/schedstat"):  # none where this is not Linux
        with contextlib.suppress(OSError, ValueError, IndexError):  # a thread that has just ended
            found[file.parent.name] = int(file.read_text().split()[1]) * 1e-9
    return found


def waiting(process: str) -> Callable[[], float]:
    """Begins to measure how long a process waits for a core; the function that it returns tells the seconds since then.

    Threads that wait at the same time delay each other's work only once, so that the one counts that waited longest.
    It is 0.0 where Linux does not tell, and when the process has ended.

    Args:
        process: its id, or "self".
    """
    before = _waits(process)
    return lambda: max((seconds - before.get(thread, 0.0) for thread, seconds in _waits(process).items()), default=0.0)
