"""A slot plays games one after the other on one core, and keeps the agents' processes between games.

So an agent that takes seconds to load is loaded only once. Processes of agents that are not playing are suspended, so
that they cannot use the core of the agents that are.
"""

from collections.abc import Sequence

from connectx_toolkit.arena.play.referee import REFEREES
from connectx_toolkit.arena.play.trial_load import Finding
from connectx_toolkit.arena.players.process import AgentProcess, Inline, Player
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.players.task import Setup, Task
from connectx_toolkit.kaggle.rules import Game

KEPT = 16  # agents' processes per slot; with torch, each takes 0.3 GB


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
        return REFEREES[self.setup.referee](players, self.setup.rules, task.opening, task.seeds)

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
        if setup.isolate:
            return AgentProcess(spec, setup.fresh, setup.grace, limit)
        return Inline(spec, setup.fresh, limit)
