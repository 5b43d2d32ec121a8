"""A pool of processes that is none: for tests of what is done in one, which compile only once in this process."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any

from connectx_toolkit.system.workers import Workers


class _AtOnce(Executor):
    """Calls a function when it is submitted, in this process."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future:
        future: Future = Future()
        future.set_result(function(*arguments, **options))
        return future


def this_process() -> Workers:
    """One worker, which is this process."""
    return Workers(_AtOnce, at_once=1)


@contextmanager
def pool_in_place(workers, initializer, arguments) -> Iterator[Workers]:
    """In place of ``connectx_toolkit.training.runs.worker_pool``."""
    initializer(*arguments)
    yield this_process()
