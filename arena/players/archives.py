"""Submissions that are archives: a .tar.gz with main.py at its root is unpacked as Kaggle does, before any clock runs.

Each is unpacked once in a run, whose processes share it, and removed with its end.
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
MOST_BYTES = 2**30  # that an archive may unpack to; Kaggle takes one or two hundred million bytes packed
MOST_FILES = 10_000


class BadArchive(ValueError):
    """An archive that Kaggle could not unpack, or would not find an agent in."""


def is_archive(path: str) -> bool:
    return path.endswith(SUFFIX)


_homes: list[Path] = []  # folders for what is unpacked, that of the present run last; made when something is


def _new_home() -> Path:
    return Path(tempfile.gettempdir(), f"connectx-archives-{secrets.token_hex(8)}")


def _home() -> Path:
    if not _homes:  # outside any run
        _homes.append(_new_home())
        atexit.register(shutil.rmtree, _homes[0], ignore_errors=True)
    return _homes[-1]


@contextmanager
def shared() -> Iterator[None]:
    """Until the end of the block, this process and those that it forks share what they unpack; then it is removed."""
    _homes.append(_new_home())
    try:
        yield
    finally:
        shutil.rmtree(_homes.pop(), ignore_errors=True)


def clear() -> None:
    """Removes what was unpacked outside any run."""
    shutil.rmtree(_home(), ignore_errors=True)


def unpacked(path: str) -> Path:
    """The main.py of an archive, unpacked into a folder ``agent``, beside an empty folder ``root``.

    Raises:
        BadArchive: it is damaged, too large, reaches outside its folder, or has no main.py at its root.
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
            while tar.fileobj.read(2**20):  # to the checksum at its end
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
    """The members, unless they are too many or too large."""
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
    """Name and content of every file in an archive, by name: what it is, whenever it was packed.

    Raises:
        BadArchive, OSError: as ``unpacked`` does.
    """
    unpacked(path)  # a good one from here on
    with tarfile.open(path, mode="r:gz") as tar:
        files = ((member.name, tar.extractfile(member)) for member in tar if member.isfile())
        return sorted((posixpath.normpath(name), file.read()) for name, file in files if file is not None)
