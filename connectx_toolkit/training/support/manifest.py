"""The manifest beside weight files: for each file, how it was made, its checksum, and what was measured.

``begin`` comes before hours of work, ``publish`` after it: a run that has published is finished, and is neither done
again nor taken for another one.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from connectx_toolkit.console.files import check_folder, locked, read_as, write_whole
from connectx_toolkit.foreign import from_json, mapping
from connectx_toolkit.training.support import checkpoint

NAME = "manifest.json"
FINISHED = "finished.bin"  # in a run's folder: its settings


def is_finished(config: Any) -> bool:
    """Whether a run with these settings is finished. Raises ValueError if its folder holds another finished run."""
    return checkpoint.load(config.run / FINISHED, config.settings) is not None


def begin(config: Any) -> None:
    """Notes what the run reads, as it is now, and refuses what could not be published.

    Raises:
        ValueError: the run is finished, its folder holds another finished run, its output cannot be written, or the
            manifest beside that is damaged.
    """
    if is_finished(config):
        raise ValueError(f"{config.run} is finished: choose another --run, or delete it")
    check_folder(config.output, is_made=True)
    _entries(config.output.parent / NAME)
    assert config.origin


def _entries(path: Path) -> dict[str, Any]:
    """What a manifest says of each file. Raises ValueError if it is damaged."""
    return mapping(read_as(from_json, path), str(path)) if path.exists() else {}


def finish(config: Any) -> None:
    """From now on ``begin`` refuses the run."""
    checkpoint.save(config.run / FINISHED, config.settings, {}, {})


def tell(score: str, path: Path) -> None:
    """Prints the last line of every method: how good its result is, and the file with it."""
    print(f"score: {score}; wrote {path}")


def publish(config: Any, content: bytes, facts: dict[str, Any], score: str) -> None:
    """Writes the output of a run with its entry in the manifest beside it, and tells its score.

    Args:
        facts: any JSON object with what the file is and how good it is; origin and checksum are added.
        score: what the method's source measures, or the held-out figure, with what it was measured on.
    """
    path = config.output
    write_whole(path, content)
    manifest = path.parent / NAME
    with locked(manifest):
        entries = _entries(manifest)
        entries[path.name] = {**config.origin, "sha256": hashlib.sha256(content).hexdigest(), **facts}
        write_whole(manifest, (json.dumps(entries, indent=2, sort_keys=True) + "\n").encode())
    finish(config)
    tell(score, path)
