"""Keeps submissions that are archives unpacked, as Kaggle does before any clock starts.

Each archive is unpacked once per run; all processes of the run share the files, which are removed at its end.
"""

import atexit
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from connectx_toolkit.kaggle.archive import unpack

SUFFIXES = (".tar.gz", ".tgz")


def is_archive(path: str) -> bool:
    return path.endswith(SUFFIXES)


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
            (new / "agent").mkdir()
            with open(path, "rb") as archive:
                unpack(archive, new / "agent")
            new.rename(place)
        except OSError:
            if not place.exists():  # else another process of this run was quicker
                raise
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return place / "agent" / "main.py"


def contents(path: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file in an archive, sorted by name; independent of when it was packed.

    Raises:
        BadArchive, OSError: as ``unpacked`` does.
    """
    folder = unpacked(path).parent
    for name, file in sorted((file.relative_to(folder).as_posix(), file) for file in folder.rglob("*")):
        if file.is_file():
            yield name, file.read_bytes()
