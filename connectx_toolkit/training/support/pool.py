"""Pools of processes for long work; if the run is interrupted, they are killed at once."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from connectx.geometry import STANDARD
from connectx.solver import Solver

LARGEST_TABLE = 30  # log2 of the entries: 8 GiB


def _start(initializer: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which then ends its workers
    initializer(*arguments)


@contextmanager
def worker_pool(workers: int, initializer: Callable[..., None], arguments: tuple[Any, ...]) -> Iterator[Any]:
    """A ProcessPoolExecutor whose processes begin with ``initializer(*arguments)``."""
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, initializer=_start, initargs=(initializer, arguments))
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.kill()  # a position may take minutes
        raise
    finally:
        pool.shutdown(cancel_futures=True)


_solver: Solver | None = None  # of a process of ``solver_pool``


def solver_pool(workers: int, table_bits: int) -> AbstractContextManager[Any]:
    """A ``worker_pool`` in which each process has a solver, with a table of 2 ** ``table_bits`` entries."""
    return worker_pool(workers, make_solver, (table_bits,))


def make_solver(table_bits: int) -> None:
    global _solver  # noqa: PLW0603 - a process has one table
    _solver = Solver(STANDARD, table_bits)


def process_solver() -> Solver:
    """The solver of the current process, which belongs to a ``solver_pool``."""
    assert _solver is not None
    return _solver
