"""Pools of processes for long work; if the run is interrupted, they are killed at once."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from connectx.geometry import STANDARD
from connectx.solver import Solver
from connectx_toolkit.machine.workers import cluster_workers, local_workers

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
