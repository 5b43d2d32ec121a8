"""An agent as the referee sees it: it is loaded, again for each game or once, and asked for moves.

Kaggle loads an agent again for each game, as part of its first move, and so is a file. An agent of ours or of Kaggle's
and a callable are loaded once and kept, and each game is charged that load time, so that every game costs the agent
what it would cost on Kaggle.
"""

import os
from typing import Any

from connectx_toolkit.arena.players.child import HostedAgent
from connectx_toolkit.arena.players.loading import version_of
from connectx_toolkit.arena.players.protocol import Reply, reply_of
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.kaggle.archive import unpacked
from connectx_toolkit.kaggle.remedies import Situation, remedy
from connectx_toolkit.kaggle.rules import Limits

LOAD_LIMIT = Limits().first_move  # seconds for a load unless the rules say otherwise
LOAD_SEED = 0  # for loading an agent that is kept: the load must not depend on which game comes first


class Player:
    """An agent in a process of its own or in this one: when it is loaded, and which games are charged the load.

    Args:
        spec: from ``connectx_toolkit.arena.players.loading.resolve``.
        load_limit: seconds that a load may take: no clock allows more than actTimeout and the whole bank.
    """

    def __init__(self, spec: AgentSpec, load_limit: float = LOAD_LIMIT):
        self.spec = spec
        self.load_limit = load_limit
        self.is_reloaded = spec.kind == "file"  # before every game, as Kaggle does; any other agent is kept
        self.load_seconds: float | None = None  # None: not loaded
        self.warning = ""  # of the latest load
        self.failed: Reply | None = None  # the fault of the latest load
        self.seed = 0  # of the current game
        self.is_first_move = False

    def begin(self, config: dict[str, Any], seed: int) -> None:
        """Tells the agent's process, started if necessary, that a game with this configuration begins.

        An agent that is kept is loaded here, once, and each of its games is charged that load. (The game's clock is not
        used: it would also count the time that the load waits for a core.) A file is loaded with its first move, on its
        clock, as on Kaggle.

        Raises:
            ProcessFailed: the process does not start.
        """
        if self.is_reloaded:
            self.close()
        self.seed = seed
        self.is_first_move = True
        self.failed = None if self.is_reloaded or self.load_seconds is not None else self.load()
        self._start_game(config, seed)

    def ask(self, ply: int, mark: int, bank: float, board: bytes, act_timeout: float) -> Reply:
        """The agent's reply to a position. ``board``: cells in Kaggle's order, one byte each."""
        limit = act_timeout + max(bank, 0.0)
        if not self.is_first_move:
            return self._explained(self._move(ply, mark, bank, board, limit))
        self.is_first_move = False
        charged = self.load_seconds or 0.0
        if self.load_seconds is None and self.failed is None:
            self.failed = self.load(limit)
        if self.failed is not None:
            return self.failed._replace(load=self.failed.seconds)
        load_seconds = self.load_seconds or 0.0
        reply = self._explained(self._move(ply, mark, bank, board, limit))
        return reply._replace(seconds=reply.seconds + load_seconds, load=load_seconds, charged=charged)

    def load(self, limit: float | None = None) -> Reply | None:
        """Loads the agent; returns None, or the reply with the fault if it cannot be loaded.

        A load that takes longer than the clock allows is given up. Time spent waiting for a core does not count, since
        compilation is slow on a busy machine.

        Args:
            limit: seconds; ``load_limit`` by default.
        """
        limit = self.load_limit if limit is None else limit
        reply = self._load(self.seed if self.is_reloaded else LOAD_SEED, limit)
        if reply.fault == "hang":
            time_out = f"still loading when its clock ran out ({limit:g} s: actTimeout and overage time)"
            return reply._replace(detail=time_out)
        if reply.fault:
            return self._explained(reply)
        self.load_seconds, self.warning = reply.seconds, reply.detail
        return None

    def _explained(self, reply: Reply) -> Reply:
        """A fault's reply with the cure that the pre-flight would give for the file as it is."""
        if self.spec.kind != "file" or reply.fault not in ("load", "exception", "exit"):
            return reply
        cure = remedy(reply.detail, "", self._situation())
        return reply._replace(detail=f"{reply.detail.rstrip()}; {cure}") if cure else reply

    def _situation(self) -> Situation:
        return Situation(frozenset({"main.py"}), version_of("numpy"), os.path.basename(self.spec.target))

    def close(self) -> None:
        """Drops the agent; it can be loaded again."""
        self.load_seconds = None

    def pause(self) -> None:
        """Suspends the agent until ``resume``, if it has a process of its own."""

    def resume(self) -> None:
        """Undoes ``pause``."""

    def _start_game(self, config: dict[str, Any], seed: int) -> None:
        raise NotImplementedError

    def _load(self, seed: int, limit: float) -> Reply:
        raise NotImplementedError

    def _move(self, ply: int, mark: int, bank: float, board: bytes, limit: float) -> Reply:
        raise NotImplementedError


def unpacked_spec(spec: AgentSpec) -> AgentSpec:
    """For an archive, the spec of its main.py; any other spec is returned unchanged. Raises BadArchive."""
    return spec._replace(target=str(unpacked(spec.target))) if spec.is_archive else spec


class Inline(Player):
    """An agent in this process: games of trivial agents are 3 times as fast.

    Only for trusted code: an agent that hangs or crashes takes this process with it, and both agents share modules and
    random generators.
    """

    def __init__(self, spec: AgentSpec, load_limit: float = LOAD_LIMIT):
        super().__init__(spec, load_limit)
        self.player = self._hosted()

    def _hosted(self) -> HostedAgent:
        spec = unpacked_spec(self.spec)
        return HostedAgent(spec, is_unpacked=spec != self.spec)

    def close(self) -> None:
        super().close()
        self.player = self._hosted()

    def _start_game(self, config: dict[str, Any], seed: int) -> None:
        self.player.start_game(config, seed)

    def _load(self, seed: int, limit: float) -> Reply:
        return reply_of(*self.player.load(seed))

    def _move(self, ply: int, mark: int, bank: float, board: bytes, limit: float) -> Reply:
        return reply_of(*self.player.move(ply, mark, bank, board))
