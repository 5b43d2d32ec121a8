"""The manifest beside weight files: for each file, how it was made, its checksum, and what was measured."""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

from console.files import write_whole

NAME = "manifest.json"


def check_output(path: Path) -> None:
    """Raises OSError if a file cannot be written there; called before hours of work. Creates the file's folder."""
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    folder = next(folder for folder in path.parents if folder.exists())
    if not folder.is_dir():
        raise NotADirectoryError(f"cannot write {path}: {folder} is not a folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=path.parent).close()


def publish(path: Path, content: bytes, command: str, facts: dict[str, Any]) -> None:
    """Writes a weight file, and its entry in the manifest beside it.

    Args:
        command: the command line that makes the file again.
        facts: any JSON object with what the file is and how good it is.
    """
    write_whole(path, content)
    manifest = path.parent / NAME
    entries = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
    entries[path.name] = {"command": command, "sha256": hashlib.sha256(content).hexdigest(), **facts}
    write_whole(manifest, (json.dumps(entries, indent=2, sort_keys=True) + "\n").encode())
