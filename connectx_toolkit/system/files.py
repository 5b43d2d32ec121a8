"""Files that are whole or not there: atomic writing, a lock for those that several runs change, errors in words.

And where the toolkit's own files lie: in a checkout of the repository, or where pip has installed them.
"""

import contextlib
import errno
import glob
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from filelock import BaseFileLock

Content = TypeVar("Content")

RUNS = Path("runs")
GAMES = RUNS / "games.sqlite"  # unless another file of games is named
OTHER_PLACE = "choose another folder"
WORDS = {
    errno.ENOSPC: "no space left on the disk; free some, or choose another folder",
    errno.EDQUOT: "your quota on the disk is used up; free some space, or choose another folder",
    errno.ENOENT: "no such file or folder",
    errno.ENOTDIR: "no such file (a part of this path is a file, not a folder)",
    errno.EISDIR: "it is a folder, where a file was expected",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.EROFS: f"cannot be written (read-only folder); {OTHER_PLACE}",
    errno.ENAMETOOLONG: "the name is too long",
}
QUIET_WAIT = 1.0  # seconds of waiting for a lock before a line says so
WAITING = "waiting for it (Ctrl-C stops; nothing is lost)"
TAKES_NOTHING = (errno.ENOENT, errno.EACCES, errno.EPERM)  # what a folder that takes no new file answers, such as /proc


def in_words(problem: OSError, path: Path | None = None) -> str:
    """ "runs/x.html: no space left on the disk; ...": an error of the system without its number.

    Args:
        path: the file that it is about; the one that the error names if it is None.
    """
    file, words = path or problem.filename, WORDS.get(problem.errno or 0, problem.strerror)
    return f"{file}: {words}" if file and words else str(words or problem)


def not_written(problem: OSError, path: Path) -> OSError:
    """The same error about ``path``, whatever temporary file the system named; its text says what to do."""
    folder = path.parent
    if problem.errno == errno.ENOENT and not folder.exists():
        return OSError(f"cannot write {path}: there is no folder {folder}")
    if folder.exists() and not folder.is_dir():
        return OSError(f"cannot write {path}: {folder} is not a folder")
    if problem.errno in TAKES_NOTHING:
        problem = OSError(errno.EROFS, "")
    return OSError(in_words(problem, path))


def _target(path: Path) -> Path:
    """The file itself where ``path`` is a symbolic link: that is written, and locked, and the link stays."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` to write to: renamed to ``path`` if the block succeeds, removed if it raises.

    Each call has a path of its own, so of several writers the last one to end has its whole content published. The
    content is on the disk before the name is: after a power cut there is no empty file in the place of the old one.
    What killed writers have left is used again, or removed.

    Raises:
        OSError: the file cannot be written; the text names ``path`` and says what to do.
    """
    path, partial = _target(path), None
    try:
        partial, lock = _partial_of(path)
        yield partial
        _to_disk(partial)
        partial.replace(path)
        with contextlib.suppress(OSError):  # not all systems can do that for a folder
            _to_disk(path.parent)
    except OSError as problem:
        own = partial is None or str(problem.filename) == str(partial)
        if own or (problem.filename is None and problem.errno in WORDS):
            raise not_written(problem, path) from None
        raise
    finally:
        if partial is not None:
            _give_up(partial, lock)


def _partial_of(path: Path) -> "tuple[Path, BaseFileLock]":
    """The first temporary path of ``path`` that no other process writes to, locked; later ones without a writer go."""
    own: tuple[Path, BaseFileLock] | None = None
    number = 0
    while True:
        partial = path.with_name(f".{path.name}.{number}.partial")
        place = partial.with_name(f"{partial.name}.lock")
        if own is not None and not partial.exists() and not place.exists():
            return own
        if (lock := lock_at(place, 0.0)) is not None:
            if own is None:
                own = partial, lock
            else:
                _give_up(partial, lock)
        number += 1


def _give_up(partial: Path, lock: "BaseFileLock") -> None:
    with contextlib.suppress(OSError):
        partial.unlink()
    unlock(lock)


def _to_disk(path: Path) -> None:
    file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)  # Windows flushes what may be written
    try:
        os.fsync(file)
    finally:
        os.close(file)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that readers see either the old or the whole new content; creates its folder if needed.

    Raises:
        OSError: as ``replacing``.
    """
    _make_folder_of(_target(path))
    with replacing(path) as partial:
        partial.write_bytes(content)


def read_as(parse: Callable[[bytes], Content], path: Path) -> Content:
    """What ``parse`` makes of a file's bytes.

    Raises:
        ValueError: as ``parse``; the text begins with the file's name.
        OSError: it cannot be read.
    """
    content = path.read_bytes()
    try:
        return parse(content)
    except ValueError as fault:
        raise ValueError(f"{path}: {fault}") from None


@contextlib.contextmanager
def file_lock(path: Path, part: str = "", words: str = "") -> Iterator[None]:
    """Lets one process at a time read ``path``, change it and write it again; others wait here until the block ends.

    The lock is a file beside it, ``.NAME.lock``, which is there only during the block. The system releases it when the
    process ends, in whatever way.

    Args:
        part: a name of what is locked if it is not the whole file; parts do not exclude each other.
        words: what to say on standard error if another process holds it for more than ``QUIET_WAIT`` seconds.

    Raises:
        OSError: the lock cannot be made; the text names ``path`` and says what to do.
    """
    path, is_said = _target(path), False
    _make_folder_of(path)
    try:
        for left in path.parent.glob(f".{glob.escape(path.name)}.*.lock") if part else ():
            if (lock := lock_at(left, 0.0)) is not None:  # of a process that was killed
                unlock(lock)
        while (lock := lock_at(path.with_name(f".{path.name}{part and '.'}{part}.lock"), QUIET_WAIT)) is None:
            if not is_said:
                print(f"{words or f'another process is writing {path}'}; {WAITING}", file=sys.stderr, flush=True)
            is_said = True
    except OSError as problem:
        raise not_written(problem, path) from None
    try:
        yield
    finally:
        unlock(lock)


def lock_at(place: Path, seconds: float) -> "BaseFileLock | None":
    """Locks the file at ``place``, and makes it if there is none; None if another holds the lock for so many seconds.

    Raises:
        OSError: the file cannot be made.
    """
    from filelock import FileLock, Timeout  # takes longer to import than many a command needs

    place.touch()  # where that is impossible it says why, and filelock may wait for ever
    lock = FileLock(place, thread_local=False)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        return None
    return lock


def unlock(lock: "BaseFileLock") -> None:
    """Gives a lock up, and removes its file."""
    is_left = False
    try:
        os.unlink(lock.lock_file)  # while it is held: who waits for it then sees that it is gone, and makes another
    except OSError as problem:
        is_left = isinstance(problem, PermissionError)  # on Windows, as long as it is open
    lock.release()
    if is_left:
        with contextlib.suppress(OSError):
            os.unlink(lock.lock_file)


def _make_folder_of(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileNotFoundError:  # where no folder can be made, such as in /proc
        raise not_written(OSError(errno.EROFS, ""), path) from None
    except OSError as problem:
        raise not_written(problem, path) from None


def check_folder(path: Path | None, is_made: bool = False) -> None:
    """Raises ValueError if a file cannot be written to ``path``. Call it before the work, not after.

    ``runs``, where the documentation's commands write to, is made; any other folder if ``is_made``.
    """
    if path is None:
        return
    path = _target(path)
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder")
    try:
        if is_made or path.parent == RUNS:
            path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as problem:
        raise ValueError(str(not_written(problem, path))) from None


ROOT = Path(__file__).resolve().parents[2]  # the folder that holds connectx_core and connectx_toolkit
IS_CHECKOUT = (ROOT / "agents").is_dir() and (ROOT / "pyproject.toml").is_file()
AGENTS = (ROOT if IS_CHECKOUT else Path(__file__).resolve().parents[1]) / "agents"
WEIGHTS = AGENTS / "weights"


def our_agents() -> list[str]:
    """The names in agents/, sorted."""
    return sorted(path.stem for path in AGENTS.glob("*.py") if not path.stem.startswith("_"))


def version_of(package: str) -> str:
    """An installed package's version; "absent" if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # takes 65 ms, and agents' processes do not need it

    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
