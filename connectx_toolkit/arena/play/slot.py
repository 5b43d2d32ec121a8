"""A slot plays games one after the other on one core, and keeps the agents' processes between games.

So an agent that takes seconds to load is loaded only once. Processes of agents that are not playing are suspended, so
that they cannot use the core of the agents that are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import uname
from typing import NamedTuple

from connectx_toolkit.arena.play.referee import REFEREES
from connectx_toolkit.arena.players import archives
from connectx_toolkit.arena.players.fingerprint import fingerprint
from connectx_toolkit.arena.players.player import Inline, Player
from connectx_toolkit.arena.players.process import AgentProcess
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.players.task import Setup, Task
from connectx_toolkit.arena.results.records import Game
from connectx_toolkit.console.programs import ProcessFailed

KEPT = 16  # agents' processes per slot; with torch, each takes 0.3 GB


class Finding(NamedTuple):
    """The result of a trial load; each text is one line or empty."""

    problem: str = ""  # why the agent cannot be loaded
    warning: str = ""


class Slot:
    """Plays tasks one after the other, and keeps the processes of their agents."""

    def __init__(self, setup: Setup):
        self.setup = setup
        self.players: dict[tuple[AgentSpec, int], Player] = {}  # in the order of their latest game

    def __enter__(self) -> "Slot":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        while self.players:
            self.players.popitem()[1].close()

    def play(self, task: Task) -> Game:
        first, second = task.players
        players = self.players_for([(first, 0), (second, int(first == second))])  # two processes, even against itself
        game = REFEREES[self.setup.referee](players, self.setup.rules, task.opening, task.seeds)
        return replace(game, names=(first.label, second.label))

    def try_load(self, spec: AgentSpec) -> Finding:
        """Loads an agent to see whether it can be loaded."""
        player = self.players_for([(spec, 0)])[0]
        failed = player.load()
        if failed is None:
            return Finding(warning=player.warning)
        lines = [line for line in failed.detail.splitlines() if line.strip()]
        return Finding(f"{spec.label} cannot be loaded: {lines[-1].strip() if lines else failed.fault}")

    def players_for(self, keys: Sequence[tuple[AgentSpec, int]]) -> list[Player]:
        """The players for a game. All other processes are suspended, and the longest unused beyond ``KEPT`` end."""
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
        return AgentProcess(spec, setup.grace, limit) if setup.isolate else Inline(spec, limit)


# In a worker of ``connectx_toolkit.arena.play.pool``, whose slot lasts from call to call

_slot: Slot | None = None
_compared: set[tuple[AgentSpec, str]] = set()


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


def leave_cluster() -> None:
    """Cleans up what a run has left in a worker of a cluster."""
    _compared.clear()
    leave_slot()
    archives.clear()


def compare(hashes: Mapping[AgentSpec, str]) -> None:
    """Compares agents on this machine with their fingerprints on the run's. Raises ProcessFailed if one is another."""
    for spec, expected in hashes.items():
        if (spec, expected) not in _compared:
            if fingerprint(spec) != expected:
                raise ProcessFailed(f"{spec.label} is another on {uname().nodename}: all need the same checkout")
            _compared.add((spec, expected))
