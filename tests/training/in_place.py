"""A pool of processes that is none: for tests of what is done in one, which compile only once in this process."""

from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager


class InPlace(Executor):
    """Runs every task at once, in this process."""

    def submit(self, function, /, *args, **kwargs):
        future: Future = Future()
        future.set_result(function(*args, **kwargs))
        return future


@contextmanager
def pool_in_place(workers, initializer, arguments) -> Iterator[Executor]:
    """In place of ``connectx_toolkit.training.support.pool.worker_pool``."""
    initializer(*arguments)
    yield InPlace()
