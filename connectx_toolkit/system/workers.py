"""Maps a function over items: in several processes of this machine, or on a dask cluster.

The results are the same for any number of workers. If a worker is killed, others do what it was doing.

A cluster has a scheduler and, on each machine, one worker process per core, in a checkout of the same version:

    PYTHONPATH=. dask scheduler
    PYTHONPATH=. dask worker tcp://SCHEDULER:8786 --nthreads 1 --nworkers 2

dask's messages can contain any code: use it only in a network that you trust.
"""

import multiprocessing
import platform
import secrets
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from concurrent.futures import ProcessPoolExecutor as Processes
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from connectx_toolkit.system.console import ProcessFailed, as_option
from connectx_toolkit.system.cores import Reserved, bind, check_concurrency, cores_apart, reserve_core, usable_cores
from connectx_toolkit.system.posix import die_with_parent

Item = TypeVar("Item")
Result = TypeVar("Result")

BATCH_SECONDS = 0.03  # of work per batch: to send a batch and its results back costs half a millisecond
LARGEST_BATCH = 64  # items
MOST_DEATHS = 3  # of workers, with no result between them: one more is no accident
CONNECT_LIMIT = 10.0  # seconds


class Workers:
    """The workers of an executor, each of which does one thing at a time.

    Args:
        start: makes the executor; called again if a worker's death has ended it.
        at_once: batches under way at a time.
    """

    def __init__(self, start: Callable[[], Executor], at_once: int):
        self._start = start
        self._executor = start()
        self._at_once = at_once
        self._batch = 1  # items
        self.is_idle = True

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """Lets a worker call the function."""
        return self._executor.submit(function, *arguments)

    def map_unordered(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Yields each item with the function's result for it, as it is found. Stop iterating to stop.

        Args:
            function: must be importable in another process, or a ``functools.partial`` of such a function.

        Raises:
            ProcessFailed: workers die again and again, or the cluster is gone.
            Exception: what the function raises.
        """
        source, deaths, self._batch = iter(items), 0, 1
        under_way: dict[Future, list[Item]] = {}
        lost: list[list[Item]] = []  # by a worker's death, which ends its executor
        again: list[list[Item]] = []  # to be sent once more
        self.is_idle = False
        try:
            while True:
                while not lost and len(under_way) < self._at_once:
                    some = again.pop() if again else list(islice(source, self._batch))
                    if not some:
                        break
                    try:
                        under_way[self.submit(_call_batch, function, some)] = some
                    except BrokenExecutor:
                        lost.append(some)
                if lost and not under_way:
                    deaths += 1
                    self._restart(deaths)
                    again, lost = lost, []
                    continue
                if not under_way:
                    break
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    some = under_way.pop(future)
                    try:
                        results, seconds = self._result(future)
                    except BrokenExecutor:
                        lost.append(some)
                        continue
                    deaths = 0
                    self._pace(len(some), seconds)
                    yield from zip(some, results, strict=True)
            self.is_idle = True
        finally:
            for future in under_way:
                future.cancel()

    def close(self) -> None:
        """Ends the executor; what has not begun is left undone."""
        self._executor.shutdown(cancel_futures=True)

    def _restart(self, deaths: int) -> None:
        if deaths > MOST_DEATHS:
            raise ProcessFailed(f"{deaths} workers in turn died over the same work (out of memory?)")
        self._executor.shutdown()
        self._executor = self._start()

    def _result(self, future: Future) -> Any:
        return future.result()

    def _pace(self, items: int, seconds: float) -> None:
        """Adapts the batch size: long items are sent singly, so that no worker idles at the end, short ones together.

        Of new items nothing is known yet: batches begin with one, and grow.
        """
        fitting = int(BATCH_SECONDS * items / max(seconds, 1e-6))
        self._batch = max(1, min(fitting, 2 * self._batch, LARGEST_BATCH))


def _call_batch(function: Callable[[Item], Result], items: Iterable[Item]) -> tuple[list[Result], float]:
    """The results for a batch, and the seconds that they took."""
    start = time.perf_counter()
    return [function(item) for item in items], time.perf_counter() - start


# In processes of this machine


def _enter_worker(cores: Any, initializer: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Initialises a worker's process. ``cores``: a queue with a core for each, or with None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which then ends its workers
    die_with_parent()
    if (core := cores.get()) is not None:
        bind(core)
    initializer(*arguments)


@contextmanager
def local_workers(
    count: int,
    initializer: Callable[..., None],
    arguments: tuple[Any, ...] = (),
    method: str | None = None,
    own_cores: bool = False,
) -> Iterator[Workers]:
    """Processes of this machine, which begin with ``initializer(*arguments)``; if the run is interrupted, they are
    killed at once.

    Args:
        method: how they start, for example "fork"; Python's default if it is None.
        own_cores: bind each to a core that no other run has reserved.

    Raises:
        ValueError: there are fewer cores than workers that should have their own.
    """
    if own_cores:
        check_concurrency(count)
    context = multiprocessing.get_context(method)
    before = set(multiprocessing.active_children())
    with cores_apart(count) if own_cores else nullcontext() as cores:

        def start() -> Executor:
            queue = context.SimpleQueue()
            for core in cores or [None] * count:
                queue.put(core)
            return Processes(count, context, _enter_worker, (queue, initializer, arguments))

        workers, is_whole = Workers(start, 2 * count), False
        try:
            yield workers
            is_whole = workers.is_idle
        finally:
            if not is_whole:
                for process in set(multiprocessing.active_children()) - before:
                    process.kill()  # their results are no longer needed, and may take minutes
            workers.close()


# On a cluster


class _Run(NamedTuple):
    """What a cluster's worker does before its first call of a run."""

    name: str
    own_core: bool
    initializer: Callable[..., None]
    arguments: tuple[Any, ...]


_reserved: Reserved | None = None  # this process's core
_entered = ""  # the name of the latest run


def _bind_to_own_core() -> None:
    """Binds the current thread, and the processes that it starts, to a core that no other worker has.

    Raises ProcessFailed: every core is taken.
    """
    global _reserved  # noqa: PLW0603 (a process has one core)
    if _reserved is None:
        _reserved = reserve_core()
        if _reserved is None:
            cores = len(usable_cores())
            raise ProcessFailed(f"no core is free on {platform.node()}: its {cores} have workers or other runs already")
        bind(_reserved.core)


def _call_remotely(run: _Run, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function in a worker; a worker that has joined meanwhile enters the run first."""
    global _entered  # noqa: PLW0603 (dask offers no other place for what its workers keep)
    if _entered != run.name:
        if run.own_core:
            _bind_to_own_core()
        run.initializer(*run.arguments)
        _entered = run.name
    return function(*arguments)


class _ClusterWorkers(Workers):
    """The workers of a cluster. If one dies, the scheduler itself gives its batch to another."""

    def __init__(self, client: Any, count: int, run: _Run):
        super().__init__(client.get_executor, 2 * count)
        self._run = run

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        return super().submit(partial(_call_remotely, self._run, function), *arguments)

    def _result(self, future: Future) -> Any:
        from distributed import KilledWorker

        try:
            return future.result()
        except KilledWorker as problem:
            raise ProcessFailed(f"several workers in turn died over the same work: {problem}") from None
        except CancelledError:
            raise ProcessFailed("the scheduler is gone") from None


@contextmanager
def cluster_workers(
    address: str,
    initializer: Callable[..., None],
    arguments: tuple[Any, ...] = (),
    finalizer: Callable[[], object] = lambda: None,
    own_cores: bool = False,
) -> Iterator[Workers]:
    """The workers of the cluster whose scheduler is at ``address``.

    Args:
        initializer: called in each worker with ``arguments`` before its first call.
        finalizer: called in each worker at the end of the run.
        own_cores: bind each worker to a core that no other has reserved.

    Raises ValueError: the cluster cannot be reached, has no workers, or has some with several threads.
    """
    from distributed import Client  # takes a second

    try:
        client = Client(address, timeout=CONNECT_LIMIT, set_as_default=False)
    except (OSError, ValueError) as problem:
        raise ValueError(f"{as_option('scheduler')} {address}: {problem}") from None
    with client:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if not workers:
            raise ValueError(f"{as_option('scheduler')} {address}: it has no workers")
        if any(worker["nthreads"] != 1 for worker in workers):
            raise ValueError(f"{as_option('scheduler')} {address}: workers should have one thread each (--nthreads 1)")
        try:
            yield _ClusterWorkers(client, len(workers), _Run(secrets.token_hex(8), own_cores, initializer, arguments))
        finally:
            client.run(finalizer, on_error="ignore")
