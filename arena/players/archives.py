"""Unpacks submissions that are archives, .tar.gz with main.py at the root, as Kaggle does, before any clock starts.

Each archive is unpacked once per run; all processes of the run share the files, which are removed at its end.
"""

import atexit
import gzip
import os
import posixpath
import secrets
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

SUFFIX = ".tar.gz"
MOST_BYTES = 2**30  # the largest unpacked size; Kaggle takes 100 to 200 MB packed
MOST_FILES = 10_000


class BadArchive(ValueError):
    """Kaggle could not unpack the archive, or would find no agent in it."""


def is_archive(path: str) -> bool:
    return path.endswith(SUFFIX)


_homes: list[Path] = []  # folders for unpacked archives, made when needed; that of the current run comes last


def _new_home() -> Path:
    return Path(tempfile.gettempdir(), f"connectx-archives-{secrets.token_hex(8)}")


def _home() -> Path:
    if not _homes:  # outside any run
        _homes.append(_new_home())
        atexit.register(shutil.rmtree, _homes[0], ignore_errors=True)
    return _homes[-1]


@contextmanager
def shared() -> Iterator[None]:
    """In the block, this process and its forks share the archives that they unpack; they are removed at the end."""
    _homes.append(_new_home())
    try:
        yield
    finally:
        shutil.rmtree(_homes.pop(), ignore_errors=True)


def clear() -> None:
    """Removes the archives that were unpacked outside any run."""
    shutil.rmtree(_home(), ignore_errors=True)


def unpacked(path: str) -> Path:
    """The main.py of an archive, which is unpacked into a folder ``agent`` beside an empty folder ``root``.

    Raises:
        BadArchive: it is damaged, too large, has a path outside its folder, or has no main.py at its root.
        OSError: it cannot be read.
    """
    stat = os.stat(path)
    key = sha256(f"{path} {stat.st_mtime_ns} {stat.st_size}".encode()).hexdigest()[:16]
    place = _home() / key
    if not place.exists():
        place.parent.mkdir(mode=0o700, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=place.parent))
        try:
            (new / "root").mkdir()
            _unpack(path, new / "agent")
            new.rename(place)
        except OSError:
            if not place.exists():  # else another process of this run was quicker
                raise
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return place / "agent" / "main.py"


def _unpack(path: str, folder: Path) -> None:
    try:
        with tarfile.open(path, mode="r:gz") as tar:
            folder.mkdir()  # also for an archive of nothing
            tar.extractall(folder, _checked(tar), filter="data")
            while tar.fileobj.read(2**20):  # read to the end, where the checksum is
                pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise BadArchive(f"the archive cannot be unpacked: {problem}") from None
    main = folder / "main.py"
    if main.is_dir():
        raise BadArchive("main.py of the archive is a folder, where a file was expected")
    if not main.is_file():
        deeper = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("main.py") if file.is_file())
        found = f"it is at {deeper[0]}" if deeper else f"it holds {_some(file.name for file in folder.iterdir())}"
        raise BadArchive(f"the archive has no main.py at its root: {found}")


def _checked(tar: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """The members. Raises BadArchive if they are too many or too large."""
    members: list[tarfile.TarInfo] = []
    size = 0
    for member in tar:
        members.append(member)
        size += member.size
        if size > MOST_BYTES or len(members) > MOST_FILES:
            raise BadArchive(f"the archive unpacks to more than {MOST_BYTES:,} bytes or {MOST_FILES:,} files")
    return members


def _some(names: Iterable[str]) -> str:
    listed = sorted(names) or ["nothing"]
    return ", ".join(listed[:5]) + (" ..." if len(listed) > 5 else "")


def contents(path: str) -> list[tuple[str, bytes]]:
    """Name and content of every file in an archive, sorted by name; independent of when it was packed.

    Raises:
        BadArchive, OSError: as ``unpacked`` does.
    """
    unpacked(path)  # raises if the archive is bad
    with tarfile.open(path, mode="r:gz") as tar:
        files = ((member.name, tar.extractfile(member)) for member in tar if member.isfile())
        return sorted((posixpath.normpath(name), file.read()) for name, file in files if file is not None)
