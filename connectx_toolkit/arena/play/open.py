"""Opens the slots in which a run plays its games: in this process, in several on this machine, or on a cluster."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Protocol

from connectx_toolkit.arena.play.local import local_slots
from connectx_toolkit.arena.play.slot import Slot
from connectx_toolkit.arena.play.trial_load import raise_or_warn, said
from connectx_toolkit.arena.players import archives
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.players.task import Setup, Task
from connectx_toolkit.kaggle.rules import Game
from connectx_toolkit.machine.cores import core_of_its_own


class Slots(Protocol):
    """The interface of everything that plays games."""

    def play(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Game]]:
        """Plays the tasks and yields each with its game as it finishes. Stop iterating to stop.

        Raises:
            RuntimeError: an agent's process cannot be started, or a slot's process died.
        """

    def check(self, specs: Iterable[AgentSpec]) -> None:
        """Loads each agent once and prints the warnings.

        Raises:
            CannotLoad: some agents cannot be loaded; all are named in one line.
        """


class OwnSlot:
    """One slot in this process. ``silence``: seconds until a load is reported; ``SILENCE`` by default."""

    def __init__(self, slot: Slot, silence: float | None = None):
        self.slot = slot
        self.silence = silence

    def play(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Game]]:
        for task in tasks:
            yield task, self.slot.play(task)

    def check(self, specs: Iterable[AgentSpec]) -> None:
        findings = []
        for spec in specs:
            with said(f"loading {spec.label} ...", self.silence):
                findings.append(self.slot.try_load(spec))
        raise_or_warn(findings)


@contextmanager
def open_slots(setup: Setup, concurrency: int = 1, scheduler: str | None = None) -> Iterator[Slots]:
    """Opens slots until the end of the ``with`` block.

    Args:
        concurrency: games at a time. 1 plays in this process; more in as many processes, each on its own core.
        scheduler: address of a dask cluster to play on instead.

    Raises:
        ValueError: there are fewer cores than that, or the cluster cannot be used.
    """
    if scheduler is not None:
        from connectx_toolkit.arena.play.dask import remote_slots  # its packages take a second to import

        with remote_slots(setup, scheduler) as remote:
            yield remote
    elif concurrency == 1:
        with archives.shared(), core_of_its_own() if setup.isolate else nullcontext(), Slot(setup) as slot:
            yield OwnSlot(slot)
    else:
        with archives.shared(), local_slots(setup, concurrency) as slots:
            yield slots


def play_all(tasks: Iterable[Task], setup: Setup, concurrency: int = 1) -> Iterator[tuple[Task, Game]]:
    """Opens slots and plays the tasks in them (see ``open_slots`` and ``Slots.play``)."""
    with open_slots(setup, concurrency) as slots:
        yield from slots.play(tasks)
