"""A submission that is an archive, a .tar.gz with main.py at its root: unpacks it within limits, and keeps it unpacked.

Kaggle unpacks before any clock starts. Here each archive is unpacked once per run; all processes of the run share the
files, which are removed at its end.
"""

import atexit
import gzip
import os
import secrets
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, cast

MOST_UNPACKED = 4 << 30  # the largest unpacked size: a judge with a few GiB of memory could not use more
MOST_FILES = 100_000  # a whole installed torch has 20,000
MOST_AT_ONCE = 1 << 20  # bytes that tarfile may ask for: it copies files in smaller parts, and headers are smaller


class BadArchive(ValueError):
    """Kaggle could not unpack the archive, or would find no agent in it."""


class _Limited:
    """The unpacked bytes of a gzip stream as a file for tarfile, which reads no more of them than the limits allow."""

    def __init__(self, stream: gzip.GzipFile):
        self.stream = stream
        self.tell = stream.tell

    def read(self, size: int) -> bytes:
        if size > MOST_AT_ONCE:
            raise BadArchive(f"the archive cannot be unpacked: a header of {size:,} bytes")
        self._check(self.tell() + size)
        return self.stream.read(size)

    def seek(self, position: int) -> int:
        self._check(position)
        return self.stream.seek(position)

    def _check(self, position: int) -> None:
        if position > MOST_UNPACKED + MOST_FILES * tarfile.BLOCKSIZE * 4:  # with the headers
            raise _too_large()


def _too_large() -> BadArchive:
    return BadArchive(f"the archive unpacks to more than {MOST_UNPACKED:,} bytes or {MOST_FILES:,} files")


def extract_archive(archive: BinaryIO, folder: Path) -> Path:
    """Unpacks an archive into a folder and returns its main.py. If it raises, some files may be there already.

    Raises:
        BadArchive: it is damaged, too large, has a path outside its folder, or has no main.py at its root.
        OSError: a file cannot be written.
    """
    try:
        with gzip.GzipFile(fileobj=archive) as stream:
            limited = _Limited(stream)
            with tarfile.open(fileobj=cast(Any, limited), mode="r:") as tar:
                tar.extractall(folder, _limit_members(tar), filter="data")
            while limited.read(MOST_AT_ONCE):  # to the end, where the checksum is
                pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise BadArchive(f"the archive cannot be unpacked: {problem}") from None
    main = folder / "main.py"
    if main.is_dir():
        raise BadArchive("main.py in the archive is a folder, where a file was expected")
    if not main.is_file():
        deeper = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("main.py") if file.is_file())
        names = ", ".join(sorted(file.name for file in folder.iterdir())[:5]) or "nothing"
        where = f"it is at {deeper[0]}: pack from inside that folder" if deeper else f"it holds {names}"
        raise BadArchive(f"the archive has no main.py at its root ({where})")
    return main


def _limit_members(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members, one by one, so that an archive that is too large is not read to its end. Raises BadArchive."""
    size = 0
    for number, member in enumerate(tar, 1):
        size += member.size
        if size > MOST_UNPACKED or number > MOST_FILES:
            raise _too_large()
        yield member


# Kept unpacked

_homes: list[Path] = []  # folders for unpacked archives, made when needed; that of the current run comes last


def _new_home() -> Path:
    return Path(tempfile.gettempdir(), f"connectx-archives-{secrets.token_hex(8)}")


def _home() -> Path:
    if not _homes:  # outside any run
        _homes.append(_new_home())
        atexit.register(shutil.rmtree, _homes[0], ignore_errors=True)
    return _homes[-1]


@contextmanager
def share_archives() -> Iterator[None]:
    """In the block, this process and its forks share the archives that they unpack; they are removed at the end."""
    _homes.append(_new_home())
    try:
        yield
    finally:
        shutil.rmtree(_homes.pop(), ignore_errors=True)


def clear_archives() -> None:
    """Removes the archives that were unpacked outside any run."""
    shutil.rmtree(_home(), ignore_errors=True)


def unpack_once(path: str) -> Path:
    """The main.py of an archive, which is unpacked into a folder ``agent`` beside an empty folder ``root``.

    Raises BadArchive as ``extract_archive`` does, and OSError.
    """

    def fill(new: Path) -> None:
        (new / "root").mkdir()
        (new / "agent").mkdir()
        with open(path, "rb") as archive:
            extract_archive(archive, new / "agent")

    return cached_folder(path, path, fill) / "agent" / "main.py"


def cached_folder(path: str, what: str, fill: Callable[[Path], None]) -> Path:
    """The folder of this run with what ``fill`` makes of a file in an empty folder; made again if the file changes.

    Args:
        what: tells apart what is made of one file.

    Raises:
        OSError: the file cannot be read. What ``fill`` raises passes through.
    """
    stat = os.stat(path)
    key = sha256(f"{what} {stat.st_mtime_ns} {stat.st_size}".encode()).hexdigest()[:16]
    place = _home() / key
    if not place.exists():
        place.parent.mkdir(mode=0o700, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=place.parent))
        try:
            fill(new)
            new.rename(place)
        except OSError:
            if not place.exists():  # else another process of this run was quicker
                raise
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return place


def files_in_archive(path: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file in an archive, by name, whenever it was packed. Raises BadArchive, OSError."""
    folder = unpack_once(path).parent
    for name, file in sorted((file.relative_to(folder).as_posix(), file) for file in folder.rglob("*")):
        if file.is_file():
            yield name, file.read_bytes()
