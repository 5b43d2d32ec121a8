"""Gives the referee an agent to load and to ask for moves, in a process of its own.

Kaggle loads an agent again for each game, as part of its first move, and so is a file: torch, numba and the file's code
are then there already, and it is charged what they took (see ``kaggle.preload``). An agent of ours or of Kaggle's
and a callable are loaded once and kept, and each game is charged that load time, so that every game costs the agent
what it would cost on Kaggle.

The agent's process starts when it is needed, and is killed when it hangs. Agents of ours, of Kaggle's, and files run in
a fork of a new interpreter (see ``child``), so that imports and compilation count in the first move, as on Kaggle. A
callable runs in a fork of the current process, because a notebook's function exists nowhere else; where there is no
fork, it runs in the current process itself.
"""

import contextlib
import faulthandler
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from connectx_toolkit.kaggle.archive import BadArchive
from connectx_toolkit.kaggle.preload import KnownSource
from connectx_toolkit.kaggle.remedies import Situation, remedy_for
from connectx_toolkit.kaggle.rules import Limits, Rules
from connectx_toolkit.players import child
from connectx_toolkit.players.child import HostedAgent, serve_agent
from connectx_toolkit.players.fork_server import START_LIMIT, ForkServer, exit_reason, our_sockets, start_and_accept
from connectx_toolkit.players.protocol import LENGTH, REPLY, Reply, pack_request, receive, reply_of, unpack_reply
from connectx_toolkit.players.spec import AgentSpec, UnknownAgent
from connectx_toolkit.system.console import ProcessFailed
from connectx_toolkit.system.cores import waiting
from connectx_toolkit.system.files import ROOT, version_of
from connectx_toolkit.system.posix import HAS_FORK, Forked, die_with_parent, end, pause, resume

LOAD_LIMIT = Limits().first_move  # seconds for a load unless the rules say otherwise
LOAD_SEED = 0  # for loading an agent that is kept: the load must not depend on which game comes first
GRACE = 1.0  # seconds past actTimeout + overage time before a silent agent is killed; Kaggle itself would wait for ever
THOUGHTS_LIMIT = 1.0  # seconds that an agent may take to tell its thoughts


class Setup(NamedTuple):
    """What all games of a run have in common."""

    rules: Rules
    referee: str = "fast"  # a key of REFEREES
    isolate: bool = True  # False: agents run in the slot's own process, see Inline


class Task(NamedTuple):
    """One game to play."""

    number: int
    players: tuple[AgentSpec, AgentSpec]  # the first and the second to move
    opening: tuple[int, ...]
    seeds: tuple[int, int]


class Player:
    """An agent in a process of its own or in this one: when it is loaded, and which games are charged the load.

    Args:
        spec: from ``connectx_toolkit.players.spec.resolve``.
        load_limit: seconds that a load may take: no clock allows more than actTimeout and all overage time.
    """

    def __init__(self, spec: AgentSpec, load_limit: float = LOAD_LIMIT):
        self.spec = spec
        self.load_limit = load_limit
        self.is_reloaded = spec.is_users_code  # before every game, as Kaggle does; any other agent is kept
        self.load_seconds: float | None = None  # None: not loaded
        self.load_charged = 0.0  # the part of them that did not pass in the load, see ``Reply``
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
            self.drop()
        self.seed = seed
        self.is_first_move = True
        self.failed = None if self.is_reloaded or self.load_seconds is not None else self.load()
        self._start_game(config, seed)

    def ask(self, ply: int, mark: int, overage: float, board: bytes, act_timeout: float) -> Reply:
        """The agent's reply to a position. ``board``: cells in Kaggle's order, one byte each."""
        limit = act_timeout + max(overage, 0.0)
        if not self.is_first_move:
            return self._add_remedy(self._move(ply, mark, overage, board, limit))
        self.is_first_move = False
        charged = self.load_seconds or 0.0
        if self.load_seconds is None and self.failed is None:
            self.failed = self.load(limit)
            charged = self.load_charged
        if self.failed is not None:
            return self.failed._replace(load=self.failed.seconds)
        load_seconds = self.load_seconds or 0.0
        reply = self._add_remedy(self._move(ply, mark, overage, board, limit))
        return reply._replace(seconds=reply.seconds + load_seconds, load=load_seconds, charged=charged + reply.charged)

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
            return self._add_remedy(reply)
        self.load_seconds, self.load_charged, self.warning = reply.seconds, reply.charged, reply.detail
        return None

    def _add_remedy(self, reply: Reply) -> Reply:
        """A fault's reply with the cure that the pre-flight would give for the file as it is."""
        if not self.spec.is_users_code or reply.raised is None:
            return reply
        folder, name = os.path.split(os.path.abspath(self.spec.target))
        cure = remedy_for(reply.raised, Situation(frozenset({"main.py"}), version_of("numpy"), name, folder))
        return reply._replace(detail=f"{reply.detail.rstrip()}; {cure}") if cure else reply

    def drop(self) -> None:
        """Ends the agent; it can be loaded again."""
        self.load_seconds = None

    def close(self) -> None:
        """Ends the agent, and what was kept to load it again."""
        self.drop()

    def pause(self) -> None:
        """Suspends the agent until ``resume``, if it has a process of its own."""

    def resume(self) -> None:
        """Undoes ``pause``."""

    def _start_game(self, config: dict[str, Any], seed: int) -> None:
        raise NotImplementedError

    def _load(self, seed: int, limit: float) -> Reply:
        raise NotImplementedError

    def _move(self, ply: int, mark: int, overage: float, board: bytes, limit: float) -> Reply:
        raise NotImplementedError


# In a process of its own


class AgentProcess(Player):
    """An agent in a process of its own, which starts when it is needed and is killed by ``close``.

    Args:
        grace: seconds that a call may exceed its limit before the process is killed.
        server: what its process is forked from, which others may share; by default its own.
    """

    def __init__(
        self, spec: AgentSpec, grace: float = GRACE, load_limit: float = LOAD_LIMIT, server: ForkServer | None = None
    ):
        super().__init__(spec, load_limit)
        self.grace = grace
        self.sock: socket.socket | None = None
        self.process: subprocess.Popen | Forked | None = None
        self._fork_server, self._is_shared = server or ForkServer(), server is not None
        self._version = "", ""  # the file that its process loads, and its stamp
        self._source: KnownSource | None = None  # as a process has told that has loaded it

    def drop(self) -> None:
        """Kills the agent's process and whatever it started."""
        super().drop()
        if self.process is not None:
            end(self.process)
            self.process.wait()
        if self.sock is not None:
            self.sock.close()
        self.sock = self.process = None

    def close(self) -> None:
        super().close()
        if not self._is_shared:
            self._fork_server.close()

    def thoughts(self) -> Any:
        """What the agent tells of its last move, as JSON has it; None where it tells nothing."""
        if self.sock is None:
            return None
        return self._exchange(pack_request(b"T", b""), THOUGHTS_LIMIT).action

    def pause(self) -> None:
        if self.process is not None:
            pause(self.process)

    def resume(self) -> None:
        if self.process is not None:
            resume(self.process)

    def _start_game(self, config: dict[str, Any], seed: int) -> None:
        body = json.dumps({"config": config, "seed": seed}).encode()
        if self.sock is None:
            self._start()
        reply = self._exchange(pack_request(b"G", body), START_LIMIT)
        if reply.fault and not self.is_reloaded:  # the process died or hung after its last move: try once more
            self._start()
            reply = self._exchange(pack_request(b"G", body), START_LIMIT)
        if reply.fault:
            raise ProcessFailed(f"the process of {self.spec.label} does not start: {reply.fault}, {reply.detail}")

    def _load(self, seed: int, limit: float) -> Reply:
        if self.spec.is_here and (problem := child.obstacle()):
            return Reply(None, 0.0, "load", problem)
        try:
            if self.sock is None:
                self._start_game({}, seed)  # starting the interpreter does not count as the agent's time
        except (BadArchive, UnknownAgent) as problem:
            return Reply(None, 0.0, "load", str(problem))
        return self._exchange(pack_request(b"L", json.dumps(seed).encode()), limit + self.grace, patient=True)

    def _move(self, ply: int, mark: int, overage: float, board: bytes, limit: float) -> Reply:
        if self.sock is None:
            return Reply(None, 0.0, "crash", "the process is gone")
        return self._exchange(pack_request(b"M", board, ply, mark, overage), limit + self.grace)

    def _exchange(self, request: bytes, limit: float, patient: bool = False) -> Reply:
        """The reply to a request. ``patient``: time spent waiting for a core does not count towards the limit."""
        assert self.sock is not None
        start = time.perf_counter()
        try:
            self.sock.settimeout(limit)
            self.sock.sendall(request)
            if patient:
                self._await_reply(limit)
            message = receive(self.sock)
        except TimeoutError:
            self.drop()
            return Reply(None, time.perf_counter() - start, "hang", f"killed after {limit:.1f} s{self._hint()}")
        except OSError:
            message = b""
        if len(message) < REPLY.size:
            return Reply(None, time.perf_counter() - start, "crash", self._exit_reason() + self._hint())
        reply = unpack_reply(message)
        if self.is_reloaded:
            self._learn(reply)
        return reply

    def _learn(self, reply: Reply) -> None:
        """Notes what to prepare for the processes of later games."""
        self._fork_server.packages |= dict.fromkeys(reply.imported)
        if reply.source is not None:
            file, stamp = self._version
            self._source = KnownSource(file, *reply.source, stamp)

    def _await_reply(self, limit: float) -> None:
        """Returns when there is something to read.

        Raises TimeoutError after ``limit`` seconds, not counting those that the agent has spent waiting for a core.
        """
        assert self.sock is not None and self.process is not None
        start, waited = time.perf_counter(), waiting(str(self.process.pid))
        left = limit
        while left > 0:
            self.sock.settimeout(left)
            with contextlib.suppress(TimeoutError):
                self.sock.recv(1, socket.MSG_PEEK)
                return
            left = limit + waited() - (time.perf_counter() - start)
        raise TimeoutError

    def _hint(self) -> str:
        return f"; {child.NEEDS_THIS_PROCESS}" if self.spec.is_here else ""

    def _exit_reason(self) -> str:
        assert self.process is not None
        deadline = time.perf_counter() + 0.5  # seconds; the process may also have only closed its socket
        while (code := self.process.poll()) is None and time.perf_counter() < deadline:
            time.sleep(0.002)
        self.drop()
        return "closed its socket" if code is None else exit_reason(code)

    def _start(self) -> None:
        self.drop()
        if self.spec.is_here:
            self._connect(self._fork)
            return
        place = self.spec.place()
        told = json.dumps({"path": [str(ROOT), *sys.path], "spec": self.spec, "place": place}).encode()
        if HAS_FORK:
            self._version = place, stamp_of(place)
            known = self._source
            is_same = known is not None and (known.file, known.stamp) == self._version
            self._connect(partial(self._fork_server.fork, source=known if is_same else None))
        else:
            self.process, self.sock = start_and_accept()
        assert self.sock is not None
        with contextlib.suppress(OSError):  # it has ended: the first request finds out
            self.sock.sendall(LENGTH.pack(len(told)) + told)

    def _connect(self, fork: Callable[[socket.socket], Forked]) -> None:
        """Starts the process with a socket to it."""
        ours, theirs = socket.socketpair()
        our_sockets.add(ours)
        with theirs:
            self.process = fork(theirs)
        self.sock = ours

    def _fork(self, theirs: socket.socket) -> Forked:
        child.end_pools()
        pid = os.fork()
        if pid == 0:
            try:
                os.setsid()
                die_with_parent()
                for sock in our_sockets:  # else other agents would not notice when the referee ends
                    sock.close()
                _silence()
                child.use_one_thread()
                serve_agent(theirs, self.spec)
            finally:
                os._exit(1)
        return Forked(pid)


def stamp_of(file: str | Path) -> str:
    """When a file was written last, in nanoseconds, and its size; "" if it is not there."""
    try:
        stat = os.stat(file)
    except OSError:
        return ""
    return f"{stat.st_mtime_ns} {stat.st_size}"


def _silence() -> None:
    """Redirects the standard descriptors to os.devnull, so that output of compiled code does not reach our terminal."""
    faulthandler.disable()  # it may write to another descriptor
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)


# In this process


class Inline(Player):
    """An agent in this process: games of trivial agents are 3 times as fast.

    Only for trusted code: an agent that hangs or crashes takes this process with it, and both agents share modules and
    random generators.
    """

    def __init__(self, spec: AgentSpec, load_limit: float = LOAD_LIMIT):
        super().__init__(spec, load_limit)
        self.player = HostedAgent(spec, spec.place())

    def drop(self) -> None:
        super().drop()
        self.player = HostedAgent(self.spec, self.spec.place())

    def _start_game(self, config: dict[str, Any], seed: int) -> None:
        self.player.start_game(config, seed)

    def _load(self, seed: int, limit: float) -> Reply:
        return reply_of(*self.player.load(seed))

    def _move(self, ply: int, mark: int, overage: float, board: bytes, limit: float) -> Reply:
        return reply_of(*self.player.move(ply, mark, overage, board))
