"""A slot: a core on which games are played one after the other, with the agents' processes kept between them.

A slot keeps an agent's process over all its games, so that what takes seconds to load is loaded once; a process whose
agent is not playing is stopped, lest it think on another's core.
"""

from collections.abc import Sequence
from typing import NamedTuple

from arena.game.referee import REFEREES
from arena.game.rules import Game, Rules
from arena.players.process import GRACE, AgentProcess, Inline, Player
from arena.players.spec import AgentSpec
from arena.runs.trial_load import Finding

KEPT = 16  # agents' processes of a slot; with torch each holds 0.3 GB


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
