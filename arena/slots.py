"""Where games are played: slots, each with its own core and its own agents' processes, here or on other machines.

A slot keeps an agent's process over all its games, so that what takes seconds to load is loaded once; a process whose
agent is not playing is stopped, lest it think on another's core.
"""

import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import Any, NamedTuple, Protocol

from arena.cores import bind, check_concurrency, core_of_its_own, cores_apart
from arena.players import archives
from arena.players.child import die_with_parent
from arena.players.forks import end_pools, obstacle
from arena.players.process import GRACE, AgentProcess, Inline, Player
from arena.players.spec import AgentSpec, callable_of
from arena.referee import REFEREES, warm_up
from arena.rules import Game, Rules

KEPT = 16  # agents' processes of a slot; with torch each holds 0.3 GB
BATCH_SECONDS = 0.03  # of play sent to a slot at once: sending it, and its games back, costs half a millisecond
LARGEST_BATCH = 64
SILENCE = 4.0  # seconds until a load is spoken of


class Setup(NamedTuple):
    """What all games of a run have in common."""

    rules: Rules
    referee: str = "fast"  # a key of REFEREES
    fresh: bool | None = None  # see Player
    grace: float = GRACE
    isolate: bool = True  # False: agents play in the slot's own process, see Inline


class Task(NamedTuple):
    """One game to play."""

    number: int
    players: tuple[AgentSpec, AgentSpec]  # who moves first, who second
    opening: tuple[int, ...]
    seeds: tuple[int, int]


class CannotLoad(ValueError):
    """An agent's code does not even load."""


class Finding(NamedTuple):
    """What a load for trial showed, each in one line, or empty."""

    problem: str = ""  # why the agent cannot be loaded
    warning: str = ""


class Slot:
    """Plays tasks one after the other, and keeps the processes of the agents that it meets."""

    def __init__(self, setup: Setup):
        self.setup = setup
        self.players: dict[tuple[AgentSpec, int], Player] = {}  # the latest to play come last

    def __enter__(self) -> "Slot":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        while self.players:
            self.players.popitem()[1].close()

    def play(self, task: Task) -> Game:
        first, second = task.players
        players = self.players_for([(first, 0), (second, int(first == second))])  # against itself, it is two processes
        return REFEREES[self.setup.referee](players, self.setup.rules, task.opening, task.seeds)

    def try_load(self, spec: AgentSpec) -> Finding:
        """Loads an agent for trial."""
        player = self.players_for([(spec, 0)])[0]
        failed = player.load()
        if failed is None:
            return Finding(warning=player.warning)
        lines = [line for line in failed.detail.splitlines() if line.strip()]
        return Finding(f"{spec.label} cannot be loaded: {lines[-1].strip() if lines else failed.fault}")

    def players_for(self, keys: Sequence[tuple[AgentSpec, int]]) -> list[Player]:
        """Those who play now; the others' processes stop, and the longest unused ones end."""
        for key, player in self.players.items():
            if key not in keys:
                player.pause()
        for key in keys:
            self.players[key] = self.players.pop(key) if key in self.players else self._new(key[0])
            self.players[key].resume()
        for key in list(self.players)[: max(0, len(self.players) - KEPT)]:
            self.players.pop(key).close()
        return [self.players[key] for key in keys]

    def _new(self, spec: AgentSpec) -> Player:
        setup = self.setup
        limit = setup.rules.config["actTimeout"] + setup.rules.bank
        if setup.isolate:
            return AgentProcess(spec, setup.fresh, setup.grace, limit)
        return Inline(spec, setup.fresh, limit)


# What runs in a slot's process

_slot: Slot | None = None


def _enter_slot(cores) -> None:
    """Begins a process of ``local_slots``."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which then ends its slots
    core = cores.get()
    if core is not None:
        bind(core)
    multiprocessing.util.Finalize(None, leave_slot, exitpriority=10)


def slot_for(setup: Setup) -> Slot:
    """This process's slot."""
    global _slot  # noqa: PLW0603 (an executor offers no other place for what its processes keep)
    if _slot is None or _slot.setup != setup:
        leave_slot()
        _slot = Slot(setup)
    return _slot


def leave_slot() -> None:
    """Ends the agents' processes of this process's slot."""
    global _slot  # noqa: PLW0603
    if _slot is not None:
        _slot.close()
    _slot = None


def play_in_slot(setup: Setup, tasks: Sequence[Task]) -> tuple[list[Game], float]:
    """The games of the tasks, and the seconds that they took."""
    slot, start = slot_for(setup), time.perf_counter()
    return [slot.play(task) for task in tasks], time.perf_counter() - start


def try_load_in_slot(setup: Setup, spec: AgentSpec) -> Finding:
    if spec.kind == "callable" and (problem := obstacle(callable_of(spec))):  # this is a fork, whether isolated or not
        return Finding(f"{spec.label} cannot be loaded: {problem}")
    return slot_for(setup).try_load(spec)


# The run's side


class Slots(Protocol):
    """Somewhere to play."""

    def play(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Game]]:
        """Plays the tasks and yields each with its game, as they finish. Stop iterating to stop.

        Raises:
            RuntimeError: an agent's process cannot be started, or a slot's process died.
        """

    def check(self, specs: Iterable[AgentSpec]) -> None:
        """Loads each agent once; prints what there is to be warned of.

        Raises:
            CannotLoad: some cannot be loaded; in one line.
        """


class OwnSlot:
    """One slot, in this process. ``silence``: seconds of a load that are passed in silence, if not ``SILENCE``."""

    def __init__(self, slot: Slot, silence: float | None = None):
        self.slot = slot
        self.silence = SILENCE if silence is None else silence

    def play(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Game]]:
        for task in tasks:
            yield task, self.slot.play(task)

    def check(self, specs: Iterable[AgentSpec]) -> None:
        findings = []
        for spec in specs:
            with _said(f"loading {spec.label} ...", self.silence):
                findings.append(self.slot.try_load(spec))
        _report(findings)


class ExecutorSlots:
    """The slots of an executor's processes. At most twice as many batches as there are slots are under way."""

    def __init__(self, executor: Executor, setup: Setup, count: int):
        self.executor = executor
        self.setup = setup
        self.count = count
        self.batch = 1  # games
        self.is_idle = True

    def play(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Game]]:
        source = iter(tasks)
        under_way: dict[Future, list[Task]] = {}
        self.is_idle = False
        try:
            while True:
                while len(under_way) < 2 * self.count and (some := list(islice(source, self.batch))):
                    players = {spec for task in some for spec in task.players}
                    under_way[self.submit(play_in_slot, some, players)] = some
                if not under_way:
                    break
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    games, seconds = self.result(future)
                    some = under_way.pop(future)
                    self._pace(len(games), seconds)
                    yield from zip(some, games, strict=True)
            self.is_idle = True
        finally:
            for future in under_way:
                future.cancel()

    def check(self, specs: Iterable[AgentSpec]) -> None:
        self.is_idle = False
        futures = {spec: self.submit(try_load_in_slot, spec, {spec}) for spec in specs}
        findings = []
        for spec, future in futures.items():
            with _said(f"loading {spec.label} ...", SILENCE):
                findings.append(self.result(future))
        self.is_idle = True
        _report(findings)

    def submit(self, function: Callable, argument: Any, specs: set[AgentSpec]) -> Future:
        """Has a slot call ``function(setup, argument)``, which is about these agents."""
        return self.executor.submit(function, self.setup, argument)

    def result(self, future: Future) -> Any:
        """What the call returned, or raised."""
        return future.result()

    def _pace(self, games: int, seconds: float) -> None:
        """Long games are sent one by one, so that no slot waits for another at the end; short ones together."""
        fitting = int(BATCH_SECONDS * games / max(seconds, 1e-6))
        self.batch = max(1, min(fitting, 2 * self.batch, LARGEST_BATCH))


@contextmanager
def _said(text: str, silence: float) -> Iterator[None]:
    """Prints the text to standard error if the block takes more seconds than ``silence``."""
    timer = threading.Timer(silence, print, (text,), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _report(findings: Iterable[Finding]) -> None:
    """Raises CannotLoad for all that cannot be loaded; else prints the warnings to standard error."""
    found = list(findings)
    if problems := [finding.problem for finding in found if finding.problem]:
        raise CannotLoad("; ".join(problems))
    for finding in found:
        if finding.warning:
            print(finding.warning, file=sys.stderr)


@contextmanager
def open_slots(setup: Setup, concurrency: int = 1, scheduler: str | None = None) -> Iterator[Slots]:
    """Slots to play in until the end of the ``with`` block.

    Args:
        concurrency: games at a time. 1 plays in this process; more in as many processes, each on its own core.
        scheduler: address of a dask cluster to play on instead.

    Raises:
        ValueError: there are fewer cores than that, or the cluster is of no use.
    """
    if scheduler is not None:
        from arena.remote import remote_slots  # its packages take a second to import

        with remote_slots(setup, scheduler) as remote:
            yield remote
    elif concurrency == 1:
        with archives.shared(), core_of_its_own() if setup.isolate else nullcontext(), Slot(setup) as slot:
            yield OwnSlot(slot)
    else:
        with archives.shared(), local_slots(setup, concurrency) as slots:
            yield slots


@contextmanager
def local_slots(setup: Setup, concurrency: int) -> Iterator[ExecutorSlots]:
    """Processes to play in, forked so that callables go with them, each with all its agents bound to its own core."""
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
                    process.kill()  # what they play is of no use any more, and may take minutes
            executor.shutdown(cancel_futures=True)


def play_all(tasks: Iterable[Task], setup: Setup, concurrency: int = 1) -> Iterator[tuple[Task, Game]]:
    """Plays the tasks in slots of its own: see ``open_slots`` and ``Slots.play``."""
    with open_slots(setup, concurrency) as slots:
        yield from slots.play(tasks)
