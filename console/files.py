"""Atomic writing of files: whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RUNS = Path("runs")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` to write to: renamed to ``path`` if the block succeeds, removed if it raises."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that readers see either the old or the whole new content; creates its folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial:
        partial.write_bytes(content)


def check_folder(path: Path | None) -> None:
    """Raises ValueError if ``path`` is a folder or its folder does not exist. Call it before the work, not after.

    ``runs``, where the documentation's commands write to, is made.
    """
    if path is not None and path.parent == RUNS:
        RUNS.mkdir(exist_ok=True)
    if path is not None and path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder")
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {path.parent}")
