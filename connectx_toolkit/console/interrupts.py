"""Ctrl-C where a KeyboardInterrupt would be lost."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c_waits() -> Iterator[None]:
    """Raises a KeyboardInterrupt of the block at its end.

    For what numba compiles: llvmlite calls Python back from C, and there an exception is printed and forgotten, so that
    the command would run on.
    """
    if threading.current_thread() is not threading.main_thread():  # which never gets one
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
