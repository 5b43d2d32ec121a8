"""Plays the games of a run: in this process, in several of this machine, or on a dask cluster."""

import multiprocessing
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import NamedTuple

from connectx_toolkit.arena.play.referee import warm_up
from connectx_toolkit.arena.play.slot import Finding, compare, leave_cluster, leave_slot, slot_for
from connectx_toolkit.arena.players import archives
from connectx_toolkit.arena.players.child import die_with_parent
from connectx_toolkit.arena.players.fingerprint import fingerprint
from connectx_toolkit.arena.players.forks import end_pools, obstacle
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.players.task import Setup, Task
from connectx_toolkit.arena.results.records import Game
from connectx_toolkit.machine.cores import core_of_its_own
from connectx_toolkit.machine.workers import Workers, cluster_workers, local_workers, this_process

SILENCE = 4.0  # seconds until a load is reported
# Slot, archives and Kaggle's environment, which redirects the standard streams, are those of the process.
_playing = threading.RLock()


class CannotLoad(ValueError):
    """An agent cannot be loaded."""


class _Job(NamedTuple):
    """What a worker is asked for. ``hashes``: of the agents in it, which a machine of a cluster compares with its own.

    A job without a task is a trial load of its one agent.
    """

    specs: tuple[AgentSpec, ...]
    hashes: Mapping[AgentSpec, str]
    task: Task | None = None


def _play(setup: Setup, job: _Job) -> Game:
    compare(job.hashes)
    assert job.task is not None
    return slot_for(setup).play(job.task)


def _try_load(setup: Setup, job: _Job) -> Finding:
    compare(job.hashes)
    (spec,) = job.specs
    is_fork = multiprocessing.parent_process() is not None
    if spec.kind == "callable" and is_fork and (problem := obstacle()):  # whether isolated or not
        return Finding(f"{spec.label} cannot be loaded: {problem}")
    return slot_for(setup).try_load(spec)


class Pool:
    """Workers that play the games of a run."""

    def __init__(self, setup: Setup, workers: Workers, is_remote: bool = False):
        self._setup = setup
        self._workers = workers
        self._is_remote = is_remote
        self._hashes: dict[AgentSpec, str] = {}

    def play(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Game]]:
        """Plays the tasks and yields each with its game as it finishes. Stop iterating to stop.

        Raises:
            ProcessFailed: an agent's process cannot be started, or workers die again and again.
        """
        jobs = (self._job(task.players, task) for task in tasks)
        for job, game in self._workers.map_unordered(partial(_play, self._setup), jobs):
            assert job.task is not None
            yield job.task, game

    def check(self, specs: Iterable[AgentSpec]) -> None:
        """Loads each agent once; prints the warnings, and which load takes long, to standard error.

        Raises:
            CannotLoad: some agents cannot be loaded; all are named in one line.
        """
        jobs = [self._job((spec,)) for spec in dict.fromkeys(specs)]
        loads = self._workers.map_unordered(partial(_try_load, self._setup), jobs)
        found: dict[AgentSpec, Finding] = {}
        while left := [job.specs[0] for job in jobs if job.specs[0] not in found]:
            with _said_if_long(f"loading {left[0].label} ..."):
                job, found[job.specs[0]] = next(loads)
        next(loads, None)
        findings = [found[job.specs[0]] for job in jobs]
        if problems := [finding.problem for finding in findings if finding.problem]:
            raise CannotLoad("; ".join(problems))
        for finding in findings:
            if finding.warning:
                print(finding.warning, file=sys.stderr)

    def _job(self, specs: tuple[AgentSpec, ...], task: Task | None = None) -> _Job:
        if not self._is_remote:
            return _Job(specs, {}, task)
        for spec in specs:
            if spec.kind == "callable":
                raise ValueError(f"{spec.label} exists in this process alone: other machines need a name or a file")
            if spec not in self._hashes:
                self._hashes[spec] = fingerprint(spec)
        return _Job(specs, {spec: self._hashes[spec] for spec in specs}, task)


@contextmanager
def _said_if_long(text: str) -> Iterator[None]:
    """Prints the text to standard error if the block takes longer than ``SILENCE`` seconds."""
    timer = threading.Timer(SILENCE, print, (text,), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _enter_fork() -> None:
    die_with_parent()
    multiprocessing.util.Finalize(None, leave_slot, exitpriority=10)


@contextmanager
def open_pool(setup: Setup, concurrency: int = 1, scheduler: str | None = None) -> Iterator[Pool]:
    """Opens a pool until the end of the ``with`` block; on this machine, another thread's waits until then.

    Args:
        concurrency: games at a time. 1 plays in this process; more in as many forks, which inherit callables. Each, and
            its agents, are bound to a core of their own.
        scheduler: address of a dask cluster to play on instead.

    Raises:
        ValueError: there are fewer cores than that, or the cluster cannot be used.
    """
    if scheduler is not None:
        with cluster_workers(scheduler, leave_slot, finalizer=leave_cluster, own_cores=True) as workers:
            yield Pool(setup, workers, is_remote=True)
    elif concurrency == 1:
        with _playing, archives.shared(), core_of_its_own() if setup.isolate else nullcontext():
            try:
                yield Pool(setup, this_process())
            finally:
                leave_slot()
    else:
        with _playing, archives.shared():
            warm_up(setup.rules, setup.referee)  # before the fork: importing Kaggle's package takes over a second
            end_pools()
            with local_workers(concurrency, _enter_fork, method="fork", own_cores=True) as workers:
                yield Pool(setup, workers)


def play_all(tasks: Iterable[Task], setup: Setup, concurrency: int = 1) -> Iterator[tuple[Task, Game]]:
    """Opens a pool and plays the tasks in it (see ``open_pool`` and ``Pool.play``)."""
    with open_pool(setup, concurrency) as pool:
        yield from pool.play(tasks)
