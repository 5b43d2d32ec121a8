"""Lets the processes that share a store take turns, so that no two of them play the same match at the same time.

A turn is a POSIX lock on a few bytes of a file beside the store. The system releases it when its process ends, in
whatever way, and the processes that a run forks do not inherit it.
"""

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

POLL_SECONDS = 0.2  # waiting in the system call itself would not hear Ctrl-C in every Python
WORDLESS_POLLS = 5  # before a holder that has not written who it is (its disk may be full) is mentioned
ENTRY = 32  # bytes of the lock file for each match: the holder's process and how many games it plays
WAITING = "waiting for it (Ctrl-C stops; nothing is lost)"


class Turns:
    """The lock file of a store, which exists while it is needed.

    Use one object for each file in a process: such locks do not exclude their own process, and closing the file
    anywhere in it releases them all.
    """

    def __init__(self, path: Path):
        self.path = path
        self.file: int | None = None

    @contextlib.contextmanager
    def turn(self, match: int) -> Iterator[None]:
        """Waits until no other process plays the match, which a line on standard error says; holds it in the block.

        Raises:
            OSError: the lock file cannot be made.
        """
        polls, is_said = 0, False
        while not self._take(match):
            if not is_said and (words := self._holder(match, polls)):
                is_said = True
                print(f"{words}; {WAITING}", file=sys.stderr, flush=True)
            time.sleep(POLL_SECONDS)
            polls += 1
        try:
            yield
        finally:
            self._write(match, "")
            if self.file is not None:
                fcntl.lockf(self.file, fcntl.LOCK_UN, ENTRY, ENTRY * match)

    def announce(self, match: int, games: int) -> None:
        """Tells those who wait that this process plays so many games of the match, which it holds."""
        self._write(match, f"{os.getpid()} {games}")

    def close(self) -> None:
        """Gives up all turns, and removes the lock file unless another process holds a turn."""
        if self.file is None:
            return
        with contextlib.suppress(OSError):
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the whole file
            if self._is_current(self.file):
                self.path.unlink()
        os.close(self.file)
        self.file = None

    def _take(self, match: int) -> bool:
        if self.file is None:
            self.file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, ENTRY, ENTRY * match)
        except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, depending on the system
            return False
        if self._is_current(self.file):
            return True
        os.close(self.file)  # another process removed it after we had opened it
        self.file = None
        return self._take(match)

    def _is_current(self, file: int) -> bool:
        """Whether others that open the lock file now get this one."""
        try:
            return os.path.samestat(os.fstat(file), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _write(self, match: int, text: str) -> None:
        if self.file is not None:
            with contextlib.suppress(OSError):  # on a full disk, others wait without knowing for whom
                os.pwrite(self.file, text.ljust(ENTRY).encode(), ENTRY * match)

    def _holder(self, match: int, polls: int) -> str:
        """Who plays the match, in words; "" if it is not known yet or has nothing to play."""
        assert self.file is not None
        process, _, games = os.pread(self.file, ENTRY, ENTRY * match).decode().strip().strip("\0").partition(" ")
        if not games:
            return "" if polls < WORDLESS_POLLS else "this match is being played by another process"
        if games == "0":
            return ""
        verb = "game of this match is" if games == "1" else "games of this match are"
        return f"{games} {verb} being played by process {process}"
