"""A run of training: its state in a file, the manifest of what it publishes, its processes, its plots.

The state of a run that takes hours is one file: arrays, facts, and the settings that it must have to be resumed. A
resumed run continues as if it had never stopped: with the same seed it gives the same result.

The manifest beside weight files says of each how it was made, its checksum, and what was measured. ``begin_run`` comes
before hours of work, ``publish`` after it. A published run is final: repeating it, or reusing its folder for other
settings, is an error.

Pools of processes are killed at once if the run is interrupted. Plots are drawn by matplotlib without a display.
"""

import hashlib
import io
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from connectx_core.position import STANDARD
from connectx_core.solver import Solver
from connectx_core.weights import pack, unpack
from connectx_toolkit.system.files import check_folder, file_lock, read_as, write_whole
from connectx_toolkit.system.foreign import from_json, mapping
from connectx_toolkit.system.workers import cluster_workers, local_workers
from connectx_toolkit.training.options import check_same


class Checkpoint(NamedTuple):
    """The facts and arrays given to ``save_checkpoint``."""

    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]


def save_checkpoint(
    path: Path, settings: dict[str, Any], facts: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Writes a checkpoint, whole or not at all. ``settings`` and ``facts`` are any JSON."""
    write_whole(path, pack(arrays, {"settings": settings, "facts": facts}))


def load_checkpoint(path: Path, settings: dict[str, Any]) -> Checkpoint | None:
    """The checkpoint in the file; None if there is no file.

    Raises:
        ValueError: it is damaged, not a checkpoint, or from a run with other settings.
    """
    if not path.exists():
        return None
    try:
        arrays, meta = unpack(path.read_bytes())
    except ValueError as fault:
        raise ValueError(f"{path} is damaged: {fault}") from None
    if not (isinstance(meta, dict) and set(meta) == {"settings", "facts"} and isinstance(meta["settings"], dict)):
        raise ValueError(f"{path} is not the checkpoint of a training run")
    check_same(path.parent, meta["settings"], settings)
    return Checkpoint(meta["facts"], arrays)


@contextmanager
def restoring(path: Path) -> Iterator[None]:
    """For a block that restores state from a checkpoint: turns its exceptions into one ValueError."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, RuntimeError) as fault:
        raise ValueError(f"{path} is damaged: {fault!r:.200}") from None


MANIFEST = "manifest.json"
FINISHED = "finished.bin"  # in a run's folder: its settings


def is_finished(config: Any) -> bool:
    """Whether a run with these settings is finished. Raises ValueError if its folder holds another finished run."""
    return load_checkpoint(config.run / FINISHED, config.settings) is not None


def begin_run(config: Any) -> None:
    """Notes what the run reads, as it is now, and refuses what could not be published.

    Raises:
        ValueError: the run is finished, its folder holds another finished run, its output cannot be written, or the
            manifest beside that is damaged.
    """
    if is_finished(config):
        raise ValueError(f"{config.run} is finished: choose another --run, or delete it")
    check_folder(config.output, is_made=True)
    _entries(config.output.parent / MANIFEST)
    assert config.origin


def _entries(path: Path) -> dict[str, Any]:
    """What a manifest says of each file. Raises ValueError if it is damaged."""
    return mapping(read_as(from_json, path), str(path)) if path.exists() else {}


def finish(config: Any) -> None:
    """From now on ``begin_run`` refuses the run."""
    save_checkpoint(config.run / FINISHED, config.settings, {}, {})


def print_score(score: str, path: Path) -> None:
    """Prints the last line of every method: how good its result is, and the file with it."""
    print(f"score: {score}; wrote {path}")


def publish(config: Any, content: bytes, facts: dict[str, Any], score: str) -> None:
    """Writes the output of a run with its entry in the manifest beside it, and tells its score.

    Args:
        facts: any JSON object with what the file is and how good it is. Added are the origin, the checksum, and the
            seconds since the run began or was last resumed.
        score: what the method's source measures, or the held-out figure, with what it was measured on.
    """
    path = config.output
    write_whole(path, content)
    manifest = path.parent / MANIFEST
    with file_lock(manifest):
        entries = _entries(manifest)
        made = {"seconds": round(time.monotonic() - config.began), "sha256": hashlib.sha256(content).hexdigest()}
        entries[path.name] = {**config.origin, **made, **facts}
        write_whole(manifest, (json.dumps(entries, indent=2, sort_keys=True) + "\n").encode())
    finish(config)
    print_score(score, path)


def save_curve(path: Path, x_label: str, y_label: str, curves: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Plots curves as PNG: faint as measured, and strong as a moving mean over a twentieth of the points.

    Args:
        curves: name, "" for none -> (n,) x and (n,) y.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(xlabel=x_label, ylabel=y_label)
    for number, (name, (x, y)) in enumerate(curves.items()):
        width = max(1, len(y) // 20)
        smooth = np.convolve(y, np.full(width, 1 / width), "valid")
        axes.plot(x, y, color=f"C{number}", alpha=0.25, linewidth=0.8)
        axes.plot(x[width - 1 :], smooth, color=f"C{number}", label=name)
    axes.grid(alpha=0.3)
    if any(curves):
        axes.legend()
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    write_whole(path, picture.getvalue())


LARGEST_TABLE = 30  # log2 of the entries: 8 GiB


def worker_pool(
    workers: int, initializer: Callable[..., None], arguments: tuple[Any, ...]
) -> AbstractContextManager[Any]:
    """Processes that begin with ``initializer(*arguments)`` and take work by ``submit`` or ``map_unordered``."""
    return local_workers(workers, initializer, arguments)


_solver: Solver | None = None  # of a process of ``solver_pool``


def solver_pool(workers: int, table_bits: int, scheduler: str = "") -> AbstractContextManager[Any]:
    """Workers each of which has a solver, with a table of 2 ** ``table_bits`` entries: processes of this machine, or
    those of the dask cluster whose scheduler has this address.
    """
    if scheduler:
        return cluster_workers(scheduler, make_solver, (table_bits,))
    return worker_pool(workers, make_solver, (table_bits,))


def make_solver(table_bits: int) -> None:
    global _solver  # noqa: PLW0603 - a process has one table
    _solver = Solver(STANDARD, table_bits)


def process_solver() -> Solver:
    """The solver of the current process, which belongs to a ``solver_pool``."""
    assert _solver is not None
    return _solver
