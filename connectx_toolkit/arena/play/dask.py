"""Slots on other machines: the processes of a dask cluster, used through the standard executor interface.

One machine runs the scheduler, and each machine one worker process per core, in a checkout of the same version:

    PYTHONPATH=. dask scheduler
    PYTHONPATH=. dask worker tcp://SCHEDULER:8786 --nthreads 1 --nworkers 2

If a worker dies, the scheduler gives its batch to another; the games of a batch are returned only once. dask's messages
can contain any code: use it only in a network that you trust.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from typing import Any

from distributed import Client, KilledWorker

from connectx_toolkit.arena.play.executor import ExecutorSlots, leave_slot
from connectx_toolkit.arena.players import archives
from connectx_toolkit.arena.players.fingerprint import fingerprint
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.players.task import Setup
from connectx_toolkit.machine.cores import Reserved, bind, reserve_core, usable_cores

CONNECT_LIMIT = 10.0  # seconds

# What runs in a worker of the cluster

_reserved: Reserved | None = None  # this process's core
_compared: set[tuple[AgentSpec, str]] = set()


def bind_to_reserved_core() -> None:
    """Binds the current thread, and the agents' processes that it starts, to a core that no other worker has.

    Raises:
        RuntimeError: every core is taken.
    """
    global _reserved  # noqa: PLW0603 (a process has one core)
    if _reserved is None:
        _reserved = reserve_core()
        if _reserved is None:
            cores = len(usable_cores())
            raise RuntimeError(
                f"no core is free on {os.uname().nodename}: its {cores} have workers or other runs already"
            )
        bind(_reserved.core)


def remotely(function: Callable, hashes: Mapping[AgentSpec, str], setup: Setup, argument: Any) -> Any:
    """Calls a function of ``arena.play.executor`` in a worker, on its own core, if the worker has the same agents.

    Args:
        hashes: the fingerprints of all agents in the call.

    Raises:
        RuntimeError: no core is free, or an agent is different on this machine.
    """
    bind_to_reserved_core()
    for spec, expected in hashes.items():
        if (spec, expected) not in _compared:
            if fingerprint(spec) != expected:
                raise RuntimeError(f"{spec.label} is another on {os.uname().nodename}: all need the same checkout")
            _compared.add((spec, expected))
    return function(setup, argument)


def leave_remotely() -> None:
    """Cleans up what a run has left in a worker."""
    _compared.clear()
    leave_slot()
    archives.clear()


# The run's side


class RemoteSlots(ExecutorSlots):
    """The workers of a cluster."""

    def __init__(self, client: Client, setup: Setup, count: int):
        super().__init__(client.get_executor(), setup, count)
        self.hashes: dict[AgentSpec, str] = {}

    def submit(self, function: Callable, argument: Any, specs: set[AgentSpec]) -> Future:
        for spec in specs - self.hashes.keys():
            if spec.kind == "callable":
                raise ValueError(f"{spec.label} exists in this process alone: other machines need a name or a file")
            self.hashes[spec] = fingerprint(spec)
        hashes = {spec: self.hashes[spec] for spec in specs}
        return self.executor.submit(remotely, function, hashes, self.setup, argument)

    def result(self, future: Future) -> Any:
        try:
            return future.result()
        except KilledWorker as problem:
            raise RuntimeError(f"several workers in turn died over the same games: {problem}") from None
        except CancelledError:
            raise RuntimeError("the scheduler is gone") from None


@contextmanager
def remote_slots(setup: Setup, address: str) -> Iterator[RemoteSlots]:
    """The slots of the cluster whose scheduler is at ``address``.

    Raises:
        ValueError: it cannot be reached, has no workers, or has some with several threads.
    """
    try:
        client = Client(address, timeout=CONNECT_LIMIT, set_as_default=False)
    except (OSError, ValueError) as problem:
        raise ValueError(f"--scheduler {address}: {problem}") from None
    with client:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if not workers:
            raise ValueError(f"--scheduler {address}: it has no workers")
        if any(worker["nthreads"] != 1 for worker in workers):
            raise ValueError(f"--scheduler {address}: its workers should have one thread each (--nthreads 1)")
        try:
            yield RemoteSlots(client, setup, len(workers))
        finally:
            client.run(leave_remotely, on_error="ignore")
