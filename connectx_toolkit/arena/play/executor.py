"""Slots in the processes of an executor, on this machine or on a cluster."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from itertools import islice
from typing import Any

from connectx_toolkit.arena.play.slot import Slot
from connectx_toolkit.arena.play.trial_load import Finding, raise_or_warn, said
from connectx_toolkit.arena.players.forks import obstacle
from connectx_toolkit.arena.players.spec import AgentSpec, callable_of
from connectx_toolkit.arena.players.task import Setup, Task
from connectx_toolkit.kaggle.rules import Game

BATCH_SECONDS = 0.03  # of play per batch: to send a batch and its games back costs half a millisecond
LARGEST_BATCH = 64

# What runs in a slot's process

_slot: Slot | None = None


def slot_for(setup: Setup) -> Slot:
    """This process's slot for the setup."""
    global _slot  # noqa: PLW0603 (an executor offers no other place for what its processes keep)
    if _slot is None or _slot.setup != setup:
        leave_slot()
        _slot = Slot(setup)
    return _slot


def leave_slot() -> None:
    """Closes this process's slot, which ends its agents' processes."""
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


class ExecutorSlots:
    """The slots of an executor's processes. At most two batches per slot are under way at a time."""

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
            with said(f"loading {spec.label} ..."):
                findings.append(self.result(future))
        self.is_idle = True
        raise_or_warn(findings)

    def submit(self, function: Callable, argument: Any, specs: set[AgentSpec]) -> Future:
        """Lets a slot call ``function(setup, argument)``, which involves these agents."""
        return self.executor.submit(function, self.setup, argument)

    def result(self, future: Future) -> Any:
        """What the call returned; raises what it raised."""
        return future.result()

    def _pace(self, games: int, seconds: float) -> None:
        """Adapts the batch size: long games are sent singly, so that no slot idles at the end, short ones together."""
        fitting = int(BATCH_SECONDS * games / max(seconds, 1e-6))
        self.batch = max(1, min(fitting, 2 * self.batch, LARGEST_BATCH))
