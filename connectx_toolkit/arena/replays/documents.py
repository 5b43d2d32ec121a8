"""The JSON documents of a file: of a plain or a compressed one, or of an archive, such as all replays of a day.

What a file is, its first bytes tell, not its name.
"""

import bz2
import gzip
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from connectx_toolkit.foreign import MOST_BYTES, noting

SUFFIXES = (".json", ".json.gz", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")  # looked for in folders
LOGS = "-logs.json"
GZIP = b"\x1f\x8b"
COMPRESSED: dict[bytes, Callable[..., Any]] = {GZIP: gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
ZIP, TAR, TAR_AT = b"PK\x03\x04", b"ustar", 257


def is_wanted(name: str) -> bool:
    """Whether a file of this name, in a folder or an archive, may hold replays."""
    last = name.rpartition("/")[2].lower()
    return last.endswith(SUFFIXES) and not last.endswith((LOGS, f"{LOGS}.gz")) and not last.startswith(".")


def read_limited(file: IO[bytes]) -> bytes:
    """What is left of a file, or so much of it that the door (``from_json``) refuses it."""
    return file.read(MOST_BYTES + 1)


def documents(path: Path, left_out: list[str]) -> Iterator[tuple[Path, bytes]]:
    """The documents of a file, each with its path; in an archive, the name in it comes after the archive's path.

    Args:
        left_out: why entries of an archive could not be read is added here.

    Raises:
        OSError, ValueError and what the archives' modules raise: the file itself cannot be read, or not to its end.
    """
    with path.open("rb") as opened:
        raw = opened if opened.seekable() else BytesIO(read_limited(opened))  # a pipe
        unpack = next((one for magic, one in COMPRESSED.items() if _head(raw, len(magic)) == magic), None)
        with unpack(raw) if unpack else raw as file:
            if _head(file, len(ZIP)) == ZIP:
                entries = _zipped(file)
            elif _head(file, TAR_AT + len(TAR))[TAR_AT:] == TAR:
                entries = _tarred(file)
            else:
                yield path, read_limited(file)
                return
            for name, open_entry in entries:
                place = path / name.lstrip("/")
                with noting(left_out, place), open_entry() as entry:
                    yield place, read_limited(COMPRESSED[GZIP](entry) if name.lower().endswith(".gz") else entry)


def _head(file: IO[bytes], count: int) -> bytes:
    """The first bytes of a file, which is then at its start again."""
    content = file.read(count)
    file.seek(0)
    return content


def _zipped(file: IO[bytes]) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """The replays of an archive: their names, and what opens them."""
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if is_wanted(info.filename):
                yield info.filename, lambda info=info: archive.open(info)  # type: ignore[misc]


def _tarred(file: IO[bytes]) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """As ``_zipped``."""
    with tarfile.open(fileobj=_Bounded(file)) as archive:  # type: ignore[call-overload]
        for member in archive:
            if member.isreg() and is_wanted(member.name):
                yield member.name, lambda member=member: archive.extractfile(member)  # type: ignore[misc]


class _Bounded:
    """A file that refuses to read more at once than a document may have: a tar's headers tell how long they are."""

    def __init__(self, file: IO[bytes]):
        self.seek, self.tell, self._file = file.seek, file.tell, file

    def read(self, count: int = -1) -> bytes:
        if not 0 <= count <= MOST_BYTES + 1:
            raise ValueError("damaged: it tells of an entry without end")
        return self._file.read(count)
