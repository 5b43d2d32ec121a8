"""Files that are whole or not there: atomic writing, a lock for those that several runs change, errors in words."""

import contextlib
import errno
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

Content = TypeVar("Content")

RUNS = Path("runs")
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
REFUSED = (errno.ENOENT, errno.EACCES, errno.EPERM)  # what a folder that takes no new file answers, such as /proc


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
    if not folder.exists():
        return OSError(f"cannot write {path}: there is no folder {folder}")
    if not folder.is_dir():
        return OSError(f"cannot write {path}: {folder} is not a folder")
    if problem.errno in REFUSED:
        problem = OSError(errno.EROFS, "")
    return OSError(in_words(problem, path))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` to write to: renamed to ``path`` if the block succeeds, removed if it raises.

    Each call has a path of its own, so of several writers the last one to end has its whole content published. The
    content is on the disk before the name is: after a power cut there is no empty file in the place of the old one.

    Raises:
        OSError: the file cannot be written; the text names ``path`` and says what to do.
    """
    partial = path.with_name(f".{path.name}.{os.urandom(4).hex()}.partial")
    try:
        yield partial
        _to_disk(partial)
        partial.replace(path)
        with contextlib.suppress(OSError):  # not all systems can do that for a folder
            _to_disk(path.parent)
    except OSError as problem:
        if str(problem.filename) == str(partial) or (problem.filename is None and problem.errno in WORDS):
            raise not_written(problem, path) from None
        raise
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def _to_disk(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that readers see either the old or the whole new content; creates its folder if needed.

    Raises:
        OSError: as ``replacing``.
    """
    _make_folder_of(path)
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
def locked(path: Path) -> Iterator[None]:
    """Lets one process at a time read ``path``, change it and write it again; others wait here until the block ends.

    The lock is a file beside it, ``.NAME.lock``, which is there only during the block. The system releases it when the
    process ends, in whatever way.

    Raises:
        OSError: the lock cannot be made; the text names ``path`` and says what to do.
    """
    _make_folder_of(path)
    place = path.with_name(f".{path.name}.lock")
    try:
        lock = _lock_at(place)
    except OSError as problem:
        raise not_written(problem, path) from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            place.unlink()  # while it is held: who waits for it then sees that it is gone, and makes another
        os.close(lock)


def _lock_at(place: Path) -> int:
    """The file descriptor of the lock file that others now find at ``place``, locked."""
    while True:
        lock = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(lock), os.stat(place)):
                return lock
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _make_folder_of(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise not_written(problem, path) from None


def check_folder(path: Path | None, is_made: bool = False) -> None:
    """Raises ValueError if a file cannot be written to ``path``. Call it before the work, not after.

    ``runs``, where the documentation's commands write to, is made; any other folder if ``is_made``.
    """
    if path is None:
        return
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder")
    try:
        if is_made or path.parent == RUNS:
            path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as problem:
        raise ValueError(str(not_written(problem, path))) from None
