"""One agent, one process: found, loaded as Kaggle loads it, asked for moves, timed, and killed when it hangs.

An agent of ours, one of Kaggle's own, or a file runs in a new Python interpreter that has imported nothing but this
module, so that the time of its first move is honest: imports and compilation count, as they do on Kaggle. A callable
runs in a fork of the present process, because a function of a notebook exists nowhere else.

Kaggle loads an agent anew for each game, within its first move. A process that goes on to further games loads it once,
and each of these games is charged the same seconds again, so that every game costs the agent what it costs on Kaggle.

The protocol on the socket pair is strictly one request, one reply. Both start with their own length in bytes:

    request   "<IcIBd"  length, b"G", b"L" or b"M", ply, mark, bank in seconds; then for G (a game begins) its
                        configuration and seed as JSON, for L (load the agent) a seed as JSON, for M (move) the cells
                        of the board, one byte each, in Kaggle's order
    reply     "<Idq"    length, seconds that the agent took, column; then, unless the agent returned an int, JSON: what
                        it returned instead or what went wrong

Times are those of ``time.perf_counter`` around the call alone, taken in the agent's process: 13 us of transport are
not charged to the agent.
"""

import contextlib
import ctypes
import faulthandler
import io
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from arena.players import archives, forks
from arena.players.loading import last_callable, load
from arena.players.spec import ROOT, AgentSpec, callable_of

GRACE = 1.0  # seconds past actTimeout + bank before a silent agent is killed; Kaggle itself would wait for ever
START_LIMIT = 60.0  # seconds for a bare interpreter to answer; it takes 0.03 on a quiet machine
LOAD_LIMIT = 62.0  # seconds for a load unless the rules say otherwise: Kaggle's actTimeout and bank
LOAD_SEED = 0  # of an agent that stays for several games: which of them comes first must not matter
DETAIL = 500  # characters of a traceback or a repr that are kept
REQUEST = struct.Struct("<IcIBd")
REPLY = struct.Struct("<Idq")
LENGTH = struct.Struct("<I")
PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Opaque(NamedTuple):
    """A returned object that is neither an int nor a float nor None: Kaggle's schema refuses every one of them."""

    type_name: str
    text: str


class Reply(NamedTuple):
    """What an agent did when asked for a move."""

    action: Any  # int, float, None or Opaque; meaningless where there is a fault
    seconds: float
    fault: str | None = None  # "exception", "load", "exit", "crash" or "hang"; illegal moves are the referee's to name
    detail: str = ""
    load: float = 0.0  # those of the seconds that the load took
    charged: float = 0.0  # those of the seconds that passed before the game: the load of an agent that stays


class Struct(dict):
    """Kaggle's record: the entries it was made with can be read as items and as attributes."""

    def __init__(self, **entries: Any) -> None:
        super().__init__(entries)
        self.__dict__.update(entries)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        self[name] = value


# The agent's process


def die_with_parent() -> None:
    """Asks Linux to kill this process with the thread that started it, so that no agent outlives a killed run.

    Elsewhere an agent ends when it next looks for a request, and finds that nobody is left to send one.
    """
    if prctl := getattr(ctypes.CDLL(None), "prctl", None):
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _receive(sock: socket.socket) -> bytes:
    """One message. Empty at the end of the stream."""
    message = sock.recv(65536)
    if len(message) >= LENGTH.size:
        (length,) = LENGTH.unpack_from(message)
        while len(message) < length:
            part = sock.recv(65536)
            if not part:
                return b""
            message += part
    return message


class _Player:
    """An agent in the process that it runs in: timed, its output swallowed.

    Args:
        missing: what it may look for in vain, as a reason that goes with exceptions about files.
    """

    def __init__(self, spec: AgentSpec, missing: str = ""):
        self.spec = spec
        self.missing = missing
        self.agent: Callable | None = None
        self.arguments = 2
        self.warning = ""  # of the load
        self.config: dict[str, Any] = {}
        self.seed = 0

    def start_game(self, config: dict[str, Any], seed: int) -> None:
        self.config, self.seed = config, seed
        seed_everything(seed)

    def load(self, seed: int) -> tuple[float, int, dict[str, Any] | None]:
        """Seconds that the load took, 0, and what went wrong if it failed, or what to be warned of.

        What it waited for a core that others had does not count: every game pays for a load, not for one bad moment.
        """
        seed_everything(seed)
        waited = _seconds_waited("thread-self")
        seconds, column, extra = self._timed(self._load, "load")
        waited = _seconds_waited("thread-self") - waited
        seed_everything(self.seed)  # it may have drawn numbers, or imported numpy or torch
        if extra is None and self.warning:
            extra = {"warning": self.warning}
        return max(0.0, seconds - waited), column, extra

    def move(self, ply: int, mark: int, bank: float, board: bytes) -> tuple[float, int, dict[str, Any] | None]:
        """Seconds, column, and what there is to say beyond a plain column (see ``_describe``)."""
        obs = Struct(remainingOverageTime=bank, step=ply, board=list(board), mark=mark)
        config = Struct(**self.config)
        if self.spec.kind == "file":
            config["__raw_path__"] = self.spec.target
        assert self.agent is not None
        agent, arguments = self.agent, (obs, config)[: self.arguments]
        return self._timed(lambda: agent(*arguments), "exception")

    def _load(self) -> int:
        if self.spec.kind == "file":
            agent, self.warning = last_callable(self.spec.target)
        else:
            agent = load(self.spec)
        code = getattr(agent, "__code__", None)
        self.arguments = getattr(code, "co_argcount", 2)  # Kaggle passes as many arguments as the code names
        self.agent = agent
        return 0

    def _timed(self, call: Callable[[], Any], fault: str) -> tuple[float, int, dict[str, Any] | None]:
        """Seconds that a call took, and the description of what it returned; ``fault`` is the kind if it raised."""
        ours = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()  # as on Kaggle: what is printed never reaches ours
        start = time.perf_counter()
        try:
            action = call()
            seconds = time.perf_counter() - start
            return seconds, *_describe(action)
        except BaseException as problem:  # SystemExit and KeyboardInterrupt too: they would end Kaggle's runner
            seconds = time.perf_counter() - start
            kind = fault if isinstance(problem, Exception) else "exit"
            hint = f" ({self.missing})" if self.missing and isinstance(problem, OSError | ImportError) else ""
            return seconds, 0, {"fault": kind, "detail": _last_lines(problem) + hint}
        finally:
            sys.stdout, sys.stderr = ours


def _seconds_waited(thread: str) -> float:
    """How long a thread has been ready to run without a core so far; 0 where the system does not say.

    Args:
        thread: "thread-self", or a process's number for its first thread.
    """
    try:
        with open(f"/proc/{thread}/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def seed_everything(seed: int) -> None:
    """Seeds the global generators of random, and of numpy and torch where the agent has imported them."""
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed % 2**32)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)


def _describe(action: Any) -> tuple[int, dict[str, Any] | None]:
    """The reply for a returned object: (column, None) for a plain int, (0, JSON) for everything else."""
    if type(action) is int and abs(action) < 2**63:
        return action, None
    if isinstance(action, BaseException):
        return 0, {"fault": "exception", "detail": f"returned {action!r:.{DETAIL}}"}
    if isinstance(action, int) and not isinstance(action, bool):
        action = max(-(2**63), min(action, 2**63))  # no column of any board, and Python writes 4,300 digits at most
    if action is None or (isinstance(action, int | float) and not isinstance(action, bool)):
        return 0, {"value": action}
    try:
        text = f"{action!r:.{DETAIL}}"
    except Exception as problem:
        text = f"<its repr raises {type(problem).__name__}>"
    return 0, {"opaque": type(action).__name__, "text": text}


def _last_lines(problem: BaseException) -> str:
    lines = traceback.format_exception(problem)
    if isinstance(problem, SyntaxError):
        lines[-1] = f"{type(problem).__name__}: {problem}"  # with the line's number, which is in another line else
    elif place := _place(problem):
        lines[-1] = f"{lines[-1].rstrip()} ({place})"
    return "".join(lines)[-DETAIL:]


def _place(problem: BaseException) -> str:
    """ "my_agent.py, line 7": the last frame in the agent's own code, that of this project and of packages left out."""
    frames = [frame for frame in traceback.extract_tb(problem.__traceback__) if _is_agents_own(frame.filename)]
    return f"{os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""


def _is_agents_own(file: str) -> bool:
    ours = tuple(os.path.join(ROOT, folder, "") for folder in ("arena", "connectx"))
    pythons = (os.path.join(os.path.dirname(os.__file__), ""), "<frozen")  # installed packages lie below it
    return not file.startswith((*ours, *pythons)) and "site-packages" not in file


def _serve(sock: socket.socket, spec: AgentSpec, missing: str = "") -> None:
    """Answers requests until the other end closes. ``missing``: see ``_Player``."""
    player = _Player(spec, missing)
    try:
        while message := _receive(sock):
            _, kind, ply, mark, bank = REQUEST.unpack_from(message)
            body = message[REQUEST.size :]
            seconds, column, extra = 0.0, 0, None
            if kind == b"G":
                player.start_game(**json.loads(body))
            elif kind == b"L":
                seconds, column, extra = player.load(json.loads(body))
            else:
                seconds, column, extra = player.move(ply, mark, bank, body)
            text = b"" if extra is None else json.dumps(extra).encode()
            sock.sendall(REPLY.pack(REPLY.size + len(text), seconds, column) + text)
    finally:
        os._exit(0)  # a fork must not run what its parent left to be done at exit


def serve_descriptor(descriptor: int, spec: list[str], parent: int, is_unpacked: bool) -> None:
    """Entry of a new interpreter: see ``Worker._start_interpreter``.

    Args:
        is_unpacked: whether the spec is the main.py of an archive (see ``arena.players.archives``): it is shown where
            Kaggle has it, if this system allows that.
    """
    found, missing = AgentSpec(*spec), ""
    if is_unpacked:
        from arena.players import place

        folder = os.path.dirname(found.target)
        try:
            place.enter(folder, os.path.join(os.path.dirname(folder), "root"))
            found = found._replace(target=os.path.join(place.AGENT, "main.py"))
        except OSError as problem:
            missing = f"{place.AGENT} cannot be shown here: {problem.strerror}"
    die_with_parent()  # a new user namespace would have undone it
    if os.getppid() == parent:  # else it died before the line above
        _serve(socket.socket(fileno=descriptor), found, missing)


# The referee's side

_BOOT = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]  # a json.py in the current folder is not ours
import json
settings = json.loads(sys.argv.pop())
sys.path[:] = settings["path"]
from arena.players.worker import serve_descriptor
del settings["path"]
serve_descriptor(**settings)
"""


def _request(kind: bytes, body: bytes, ply: int = 0, mark: int = 0, bank: float = 0.0) -> bytes:
    return REQUEST.pack(REQUEST.size + len(body), kind, ply, mark, bank) + body


def _reply(seconds: float, column: int, extra: dict[str, Any] | None) -> Reply:
    if extra is None:
        return Reply(column, seconds)
    if "fault" in extra:
        return Reply(None, seconds, extra["fault"], extra["detail"])
    if "warning" in extra:
        return Reply(column, seconds, detail=extra["warning"])
    return Reply(Opaque(extra["opaque"], extra["text"]) if "opaque" in extra else extra["value"], seconds)


class Seat:
    """What is common to an agent in a process of its own and one in this process: its load, and who pays for it.

    Args:
        spec: from ``arena.players.loading.resolve``.
        fresh: whether every game loads it anew. None: files are, as Kaggle exec's a file anew for each game.
        load_limit: seconds that a load may take: no clock allows more than actTimeout and the whole bank.
    """

    def __init__(self, spec: AgentSpec, fresh: bool | None = None, load_limit: float = LOAD_LIMIT):
        self.spec = spec
        self.load_limit = load_limit
        self.fresh = spec.kind == "file" if fresh is None else fresh
        self.load_seconds: float | None = None  # None: not loaded
        self.warning = ""  # of the latest load
        self.failed: Reply | None = None  # what went wrong with it
        self.seed = 0  # of the present game
        self.is_first_move = False

    def begin(self, config: dict[str, Any], seed: int) -> None:
        """Tells the agent's process, started where need be, that a game with this configuration begins.

        An agent that stays is loaded here, once, and each of its games is charged with that load: a clock that ran
        meanwhile would count what the load waits for a core, too. One that is fresh loads with its first move, on its
        clock, as on Kaggle.

        Raises:
            RuntimeError: the process does not start.
        """
        if self.fresh:
            self.close()
        self.seed = seed
        self.is_first_move = True
        self.failed = None if self.fresh or self.load_seconds is not None else self.load()
        self._start_game(config, seed)

    def ask(self, ply: int, mark: int, bank: float, board: bytes, act_timeout: float) -> Reply:
        """The agent's reply to a position. ``board``: cells in Kaggle's order, one byte each."""
        limit = act_timeout + max(bank, 0.0)
        if not self.is_first_move:
            return self._move(ply, mark, bank, board, limit)
        self.is_first_move = False
        charged = self.load_seconds or 0.0
        if self.load_seconds is None and self.failed is None:
            self.failed = self.load(limit)
        if self.failed is not None:
            return self.failed._replace(load=self.failed.seconds)
        load_seconds = self.load_seconds or 0.0
        reply = self._move(ply, mark, bank, board, limit)
        return reply._replace(seconds=reply.seconds + load_seconds, load=load_seconds, charged=charged)

    def load(self, limit: float | None = None) -> Reply | None:
        """Loads the agent; the reply that tells why it cannot be loaded, or None.

        A load that never ends is given up when the clock has run out. What it waited for a core that others had does
        not count: a busy machine compiles slowly.

        Args:
            limit: seconds, where it is not ``load_limit``.
        """
        limit = self.load_limit if limit is None else limit
        reply = self._load(self.seed if self.fresh else LOAD_SEED, limit)
        if reply.fault == "hang":
            return reply._replace(detail=f"still loading when its clock had run out ({limit:g} s: actTimeout and bank)")
        if reply.fault:
            return reply
        self.load_seconds, self.warning = reply.seconds, reply.detail
        return None

    def close(self) -> None:
        """Forgets the agent; it can be loaded again."""
        self.load_seconds = None

    def pause(self) -> None:
        """Keeps the agent from running until ``resume``, where it has a process of its own."""

    def resume(self) -> None:
        """Undoes ``pause``."""

    def _start_game(self, config: dict[str, Any], seed: int) -> None:
        raise NotImplementedError

    def _load(self, seed: int, limit: float) -> Reply:
        raise NotImplementedError

    def _move(self, ply: int, mark: int, bank: float, board: bytes, limit: float) -> Reply:
        raise NotImplementedError


def _unpacked(spec: AgentSpec) -> AgentSpec:
    """Of an archive the main.py that Kaggle would load; any other spec is returned as it is. Raises BadArchive."""
    is_packed = spec.kind == "file" and archives.is_archive(spec.target)
    return spec._replace(target=str(archives.unpacked(spec.target))) if is_packed else spec


class Inline(Seat):
    """An agent in this very process: 3 times as fast for trivial agents.

    For code that is trusted: a hang hangs, a crash crashes, and both agents share modules and random generators.
    """

    def __init__(self, spec: AgentSpec, fresh: bool | None = None, load_limit: float = LOAD_LIMIT):
        super().__init__(spec, fresh, load_limit)
        self.player = _Player(_unpacked(spec))

    def close(self) -> None:
        super().close()
        self.player = _Player(_unpacked(self.spec))

    def _start_game(self, config: dict[str, Any], seed: int) -> None:
        self.player.start_game(config, seed)

    def _load(self, seed: int, limit: float) -> Reply:
        return _reply(*self.player.load(seed))

    def _move(self, ply: int, mark: int, bank: float, board: bytes, limit: float) -> Reply:
        return _reply(*self.player.move(ply, mark, bank, board))


class _Fork:
    """A forked child, with the part of subprocess.Popen's interface that Worker uses."""

    def __init__(self, pid: int):
        self.pid = pid
        self.code: int | None = None

    def poll(self, options: int = os.WNOHANG) -> int | None:
        if self.code is None:
            pid, status = os.waitpid(self.pid, options)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code

    def wait(self) -> int | None:
        return self.poll(0)


class Worker(Seat):
    """An agent in a process of its own, which starts when it is needed and is killed by ``close``.

    Args:
        grace: seconds that a call may exceed its limit before the process is killed.
    """

    _open: ClassVar["weakref.WeakSet[Worker]"] = weakref.WeakSet()

    def __init__(
        self, spec: AgentSpec, fresh: bool | None = None, grace: float = GRACE, load_limit: float = LOAD_LIMIT
    ):
        super().__init__(spec, fresh, load_limit)
        self.grace = grace
        self.sock: socket.socket | None = None
        self.process: subprocess.Popen | _Fork | None = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kills the agent's process and whatever it started."""
        super().close()
        if self.process is not None:
            _signal_group(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.sock is not None:
            self.sock.close()
        self.sock = self.process = None
        self._open.discard(self)

    def pause(self) -> None:
        if self.process is not None:
            _signal_group(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        if self.process is not None:
            _signal_group(self.process.pid, signal.SIGCONT)

    def _start_game(self, config: dict[str, Any], seed: int) -> None:
        body = json.dumps({"config": config, "seed": seed}).encode()
        if self.sock is None:
            self._start()
        reply = self._exchange(_request(b"G", body), START_LIMIT)
        if reply.fault and not self.fresh:  # the agent's process died or hung after its last move: one more try
            self._start()
            reply = self._exchange(_request(b"G", body), START_LIMIT)
        if reply.fault:
            raise RuntimeError(f"the process of {self.spec.label} does not start: {reply.fault}, {reply.detail}")

    def _load(self, seed: int, limit: float) -> Reply:
        if self.spec.kind == "callable" and (problem := forks.obstacle(callable_of(self.spec))):
            return Reply(None, 0.0, "load", problem)
        try:
            if self.sock is None:
                self._start_game({}, seed)  # what its interpreter needs to start is none of the agent's time
        except archives.BadArchive as problem:
            return Reply(None, 0.0, "load", str(problem))
        return self._exchange(_request(b"L", json.dumps(seed).encode()), limit + self.grace, patient=True)

    def _move(self, ply: int, mark: int, bank: float, board: bytes, limit: float) -> Reply:
        if self.sock is None:
            return Reply(None, 0.0, "crash", "the process is gone")
        return self._exchange(_request(b"M", board, ply, mark, bank), limit + self.grace)

    def _exchange(self, request: bytes, limit: float, patient: bool = False) -> Reply:
        """The reply to a request. ``patient``: what the agent waits for a core does not count to the limit."""
        assert self.sock is not None
        start = time.perf_counter()
        try:
            self.sock.settimeout(limit)
            self.sock.sendall(request)
            if patient:
                self._await_reply(limit)
            message = _receive(self.sock)
        except TimeoutError:
            self.close()
            return Reply(None, time.perf_counter() - start, "hang", f"killed after {limit:.1f} s")
        except OSError:
            message = b""
        if len(message) < REPLY.size:
            return Reply(None, time.perf_counter() - start, "crash", self._obituary())
        _, seconds, column = REPLY.unpack_from(message)
        return _reply(seconds, column, json.loads(message[REPLY.size :]) if len(message) > REPLY.size else None)

    def _await_reply(self, limit: float) -> None:
        """Returns when there is something to read; raises TimeoutError after so many seconds of which none was spent
        waiting for a core."""
        assert self.sock is not None and self.process is not None
        thread, start = str(self.process.pid), time.perf_counter()
        waited = _seconds_waited(thread)
        left = limit
        while left > 0:
            self.sock.settimeout(left)
            with contextlib.suppress(TimeoutError):
                self.sock.recv(1, socket.MSG_PEEK)
                return
            left = limit + _seconds_waited(thread) - waited - (time.perf_counter() - start)
        raise TimeoutError

    def _obituary(self) -> str:
        assert self.process is not None
        deadline = time.perf_counter() + 0.5  # seconds; it may also live on, with its socket closed
        while (code := self.process.poll()) is None and time.perf_counter() < deadline:
            time.sleep(0.002)
        self.close()
        if code is None:
            return "closed its socket"
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self.sock = ours
                self.process = self._fork(theirs) if self.spec.kind == "callable" else self._start_interpreter(theirs)
            finally:
                if self.process is None:
                    self.close()
        self._open.add(self)

    def _start_interpreter(self, theirs: socket.socket) -> subprocess.Popen:
        spec = _unpacked(self.spec)
        settings = {
            "path": [str(ROOT), *sys.path],
            "descriptor": theirs.fileno(),
            "spec": list(spec),
            "parent": os.getpid(),
            "is_unpacked": spec != self.spec,
        }
        return subprocess.Popen(
            [sys.executable, "-c", _BOOT, json.dumps(settings)],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us; and killpg takes the agent's own children too
        )

    def _fork(self, theirs: socket.socket) -> _Fork:
        forks.end_pools()
        pid = os.fork()
        if pid == 0:
            try:
                os.setsid()
                die_with_parent()
                for worker in [*self._open, self]:  # else their agents would not see that the referee is gone
                    if worker.sock is not None:
                        worker.sock.close()
                _silence()
                forks.use_one_thread()
                _serve(theirs, self.spec)
            finally:
                os._exit(1)
        return _Fork(pid)


def _signal_group(pid: int, number: signal.Signals) -> None:
    """Sends a signal to a process and its group, also when it has not come to lead one yet, or ended by itself."""
    for send in (os.killpg, os.kill):
        try:
            send(pid, number)
        except ProcessLookupError:
            continue


def _silence() -> None:
    """Points the standard descriptors at nothing: what compiled code prints must not reach our terminal."""
    faulthandler.disable()  # it may have been told to report elsewhere
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
