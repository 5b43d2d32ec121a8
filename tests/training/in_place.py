"""A pool of processes that is none: for tests of what is done in one, which compile only once in this process."""

from collections.abc import Iterator
from contextlib import contextmanager

from connectx_toolkit.machine.workers import Workers, this_process


@contextmanager
def pool_in_place(workers, initializer, arguments) -> Iterator[Workers]:
    """In place of ``connectx_toolkit.training.support.pool.worker_pool``."""
    initializer(*arguments)
    yield this_process()
