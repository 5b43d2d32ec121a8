"""What a result is made from: digests of files and folders, and the commit of the code."""

import hashlib
import subprocess
from pathlib import Path
from typing import Any

from connectx_toolkit.places import ROOT


def digest_of(path: Path, endings: tuple[str, ...]) -> str:
    """The sha256 of a file, or of the names and contents of a folder's files with these endings; "" if there is none.

    Of a container in a folder its own checksum counts, which covers all of it and is checked by whoever reads it: the
    5.2 GB of the bounds that the network learnt from would otherwise take some 10 s.
    """
    if path.is_file():
        return _sha256(path)
    if not path.is_dir():
        return ""
    whole = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.suffix in endings and file.is_file()):
        whole.update(f"{file.relative_to(path).as_posix()}\n{_checksum(file)}\n".encode())
    return whole.hexdigest()


def _checksum(file: Path) -> str:
    from connectx.weights import DIGEST, MAGIC  # with numpy, without which --help should do

    with file.open("rb") as opened:
        start = opened.read(len(MAGIC) + DIGEST)
    return start.hex() if start.startswith(MAGIC) else _sha256(file)


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def source() -> dict[str, Any]:
    """The commit of the code, and whether files that git knows were changed since; empty outside a git checkout."""
    top, commit = (_git("rev-parse", "--show-toplevel", "HEAD").splitlines() or ["", ""])[:2]
    if not top or Path(top).resolve() != ROOT:
        return {}
    return {"commit": commit, "dirty": bool(_git("status", "--porcelain", "--untracked-files=no"))}


def _git(*words: str) -> str:
    """What git prints; nothing where it fails or is not installed."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
