"""Slots in processes of this machine, each bound to its own core."""

import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from connectx_toolkit.arena.play.executor import ExecutorSlots, leave_slot
from connectx_toolkit.arena.play.referee import warm_up
from connectx_toolkit.arena.players.child import die_with_parent
from connectx_toolkit.arena.players.forks import end_pools
from connectx_toolkit.arena.players.task import Setup
from connectx_toolkit.machine.cores import bind, check_concurrency, cores_apart


def _enter_slot(cores) -> None:
    """Initialises a process of ``local_slots``."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which then ends its slots
    core = cores.get()
    if core is not None:
        bind(core)
    multiprocessing.util.Finalize(None, leave_slot, exitpriority=10)


@contextmanager
def local_slots(setup: Setup, concurrency: int) -> Iterator[ExecutorSlots]:
    """Slots in forked processes, which inherit callables; each process and its agents are bound to one core."""
    check_concurrency(concurrency)
    warm_up(setup.rules, setup.referee)  # before the fork: importing Kaggle's package takes over a second
    end_pools()
    context = multiprocessing.get_context("fork")
    before = set(multiprocessing.active_children())
    with cores_apart(concurrency) as cores:
        queue = context.SimpleQueue()
        for core in cores:
            queue.put(core)
        executor = ProcessPoolExecutor(concurrency, context, _enter_slot, (queue,))
        slots = ExecutorSlots(executor, setup, concurrency)
        try:
            yield slots
        finally:
            if not slots.is_idle:
                for process in set(multiprocessing.active_children()) - before:
                    process.kill()  # their games are no longer needed, and may take minutes
            executor.shutdown(cancel_futures=True)
