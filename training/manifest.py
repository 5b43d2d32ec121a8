"""The manifest of agents/weights: for each file, how it was made, its checksum, and what was measured of it."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

NAME = "manifest.json"


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file under a temporary name and renames it: a reader sees all of it or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(content)
    os.replace(partial, path)


def publish(path: Path, content: bytes, command: str, facts: dict[str, Any]) -> None:
    """Writes a weight file, and its entry in the manifest beside it.

    Args:
        command: the command line that makes the file again.
        facts: anything JSON that says what it is and how good.
    """
    write_atomically(path, content)
    manifest = path.parent / NAME
    entries = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
    entries[path.name] = {"command": command, "sha256": hashlib.sha256(content).hexdigest(), **facts}
    write_atomically(manifest, (json.dumps(entries, indent=2, sort_keys=True) + "\n").encode())
