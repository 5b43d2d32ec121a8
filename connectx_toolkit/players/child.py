"""The agent's process: loads the agent as Kaggle does, asks it for moves, times it, and discards its output.

It is forked from a process that has imported this module and numpy, and has no thread and no agent. Kaggle's server has
imported numpy and ``numpy.random``, too, before it loads an agent (kaggle-environments 1.33.2): an agent pays for its
other imports only. What else is done before the fork, it pays for (see ``kaggle.preload``). Where there is no fork, it
is a new interpreter.

A callable plays in a fork of the current process, where only the thread that forks exists. The rule: functions with
numpy and with torch on the CPU play in a fork; all else that has threads or a device of its own (a GPU, JAX, numba's
``parallel=True``) plays with ``isolate=False`` and one worker, in this process.

torch and many others use GNU's OpenMP, which would wait for the missing threads for ever. So its pools are ended before
the fork; both processes start new ones when needed. LLVM's OpenMP and OpenBLAS do this by themselves. JAX would wait
for ever, too: while it runs, no callable is played in a fork. A GPU's libraries and numba fail by themselves.
"""

import contextlib
import ctypes
import gc
import io
import json
import math
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from connectx_toolkit.kaggle.agent_file import Loaded, Struct
from connectx_toolkit.kaggle.preload import KnownSource, Preload, heavy_imports
from connectx_toolkit.kaggle.raised import to_raised
from connectx_toolkit.kaggle.sandbox import FOLDER, hide_credentials
from connectx_toolkit.players.protocol import LENGTH, ORDER, REQUEST, pack_reply, receive
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.system.cores import seed_everything, waiting
from connectx_toolkit.system.posix import Forked, c_function, die_with_parent, end

DETAIL = 500  # characters of a traceback or a repr that are kept
MOST_TOLD = 4096  # characters of an agent's thoughts: docs/guides/board.md asks for what is short
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
Timed = tuple[float, int, dict[str, Any] | None]  # seconds, column, and details of what is no plain column


class HostedAgent:
    """An agent inside its process: calls are timed and output is discarded.

    Args:
        place: the file that it is loaded from, if any.
        missing: something that Kaggle has and this machine lacks; added to exceptions about files and imports.
        is_alone: whether the process is this agent's. Then what Kaggle does not have stays out of its reach for good.
        prepared: what was done before the process was forked.
    """

    def __init__(
        self,
        spec: AgentSpec,
        place: str,
        missing: str = "",
        is_alone: bool = False,
        prepared: Preload | None = None,
    ):
        self.spec, self.place = spec, place
        self.prepared = prepared or Preload()
        self.told: set[str] = set()  # of the packages that the agent has imported
        self.entry: str | None = None  # of the load
        self.is_alone = is_alone
        self.missing = missing
        self.agent: Callable | None = None
        self.arguments = 2
        self.warning = ""  # of the load
        self.config: dict[str, Any] = {}
        self.seed = 0

    def start_game(self, config: dict[str, Any], seed: int) -> None:
        self.config, self.seed = config, seed
        seed_everything(seed)

    def load(self, seed: int) -> Timed:
        """(seconds of the load, 0, its fault or warning or None).

        Time spent waiting for a core is subtracted: every game is charged this load, and one busy moment of the machine
        must not count in all of them.
        """
        seed_everything(seed)
        parsed = self.prepared.parsed
        loader = self.spec.loader(self.place, self.is_alone, parsed)  # not on the agent's clock
        self.prepared.due += parsed.seconds if parsed else 0.0
        waited = waiting("self")
        seconds, column, extra = self._time_call(lambda: self._load(loader), "load")
        seconds = max(0.0, seconds - waited())
        seed_everything(self.seed)  # the load may have drawn numbers, or imported numpy or torch
        if extra is None:
            extra = {"warning": self.warning, "source": None if self.entry is None else (self.place, self.entry)}
        return self._add_charges(seconds, column, extra)

    def move(self, ply: int, mark: int, overage: float, board: bytes) -> Timed:
        """(seconds, column, details of a reply that is not a plain column or None); see ``_describe``."""
        obs = Struct(remainingOverageTime=overage, step=ply, board=list(board), mark=mark)
        config = Struct(**self.config)
        if self.spec.is_users_code:
            config["__raw_path__"] = self.place
        assert self.agent is not None
        agent, arguments = self.agent, (obs, config)[: self.arguments]
        return self._add_charges(*self._time_call(lambda: agent(*arguments), "exception"))

    def _add_charges(self, seconds: float, column: int, extra: dict[str, Any] | None) -> Timed:
        """A reply with what the agent is charged for what was prepared, and the heavy packages that it has imported."""
        charged = self.prepared.take_due()
        imported = [name for name in heavy_imports() if name not in self.told] if self.is_alone else []
        if not charged and not imported:
            return seconds, column, extra
        self.told.update(imported)
        extra = {"value": column} if extra is None else extra
        return seconds + charged, column, extra | {"charged": charged, "imported": imported}

    def thoughts(self) -> Timed:
        """What the agent tells of its last move: what its attribute ``thoughts``, a function, returns."""
        try:
            told = self.agent.thoughts()  # type: ignore[union-attr]
            if not _can_be_told(told) or len(json.dumps(told, allow_nan=False)) > MOST_TOLD:
                told = None
        except BaseException:  # whatever it raises, or is not there: the game is none the worse
            told = None
        return 0.0, 0, {"value": told}

    def _load(self, loader: Callable[[], Loaded]) -> int:
        agent, self.warning, _, self.entry = loader()
        code = getattr(agent, "__code__", None)
        self.arguments = getattr(code, "co_argcount", 2)  # Kaggle passes as many arguments as the code names
        self.agent = agent
        return 0

    def _time_call(self, call: Callable[[], Any], fault: str) -> Timed:
        """The seconds of a call and ``_describe`` of its result; ``fault`` is the kind of fault if it raises."""
        ours = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()  # as on Kaggle: what it prints never reaches our streams
        start = time.perf_counter()
        try:
            action = call()
            seconds = time.perf_counter() - start
            return seconds, *_describe(action)
        except BaseException as problem:  # SystemExit and KeyboardInterrupt too: they would end Kaggle's runner
            seconds = time.perf_counter() - start
            kind = fault if isinstance(problem, Exception) else "exit"
            hint = f" ({self.missing})" if self.missing and isinstance(problem, OSError | ImportError) else ""
            detail = self.spec.as_its_author_sees(_last_lines(problem), self.place) + hint
            return seconds, 0, {"fault": kind, "detail": detail, "raised": to_raised(problem)}
        finally:
            sys.stdout, sys.stderr = ours


def _describe(action: Any) -> tuple[int, dict[str, Any] | None]:
    """The reply for a returned object: (column, None) for a plain int, (0, JSON) for everything else."""
    if type(action) is int and abs(action) < 2**63:
        return action, None
    if isinstance(action, BaseException):
        return 0, {"fault": "exception", "detail": f"returned {action!r:.{DETAIL}}"}
    if isinstance(action, int) and not isinstance(action, bool):
        action = max(-(2**63), min(action, 2**63))  # never a column; Python refuses to print more than 4,300 digits
    if action is None or (isinstance(action, int | float) and not isinstance(action, bool)):
        return 0, {"value": action}
    try:
        text = f"{action!r:.{DETAIL}}"
    except Exception as problem:
        text = f"<its repr raises {type(problem).__name__}>"
    return 0, {"opaque": type(action).__name__, "text": text}


def _can_be_told(told: Any) -> bool:
    """Whether thoughts have the form that every board can show: a dict of texts, finite numbers and lists of those."""

    def fits(name: Any, value: Any) -> bool:
        if name in ("line", "visits"):
            return type(value) is list and all(type(each) is int for each in value)
        if type(value) is list:
            return all(fits("", each) and type(each) is not list for each in value)
        return type(value) in (str, int, bool, type(None)) or (type(value) is float and math.isfinite(value))

    return type(told) is dict and all(type(name) is str and fits(name, value) for name, value in told.items())


def _last_lines(problem: BaseException) -> str:
    lines = traceback.format_exception(problem)
    if isinstance(problem, SyntaxError):
        lines[-1] = f"{type(problem).__name__}: {problem}"  # with the line number, which is otherwise in another line
    elif place := to_raised(problem).place:
        lines[-1] = f"{lines[-1].rstrip()} ({place})"
    return "".join(lines)[-DETAIL:]


def serve_agent(
    sock: socket.socket, spec: AgentSpec, place: str = "", missing: str = "", prepared: Preload | None = None
) -> None:
    """Answers requests until the other end closes the socket. Arguments: see ``HostedAgent``."""
    player = HostedAgent(spec, place, missing, is_alone=True, prepared=prepared)
    try:
        while message := receive(sock):
            _, kind, ply, mark, overage = REQUEST.unpack_from(message)
            body = message[REQUEST.size :]
            seconds, column, extra = 0.0, 0, None
            if kind == b"G":
                player.start_game(**json.loads(body))
            elif kind == b"L":
                seconds, column, extra = player.load(json.loads(body))
            elif kind == b"T":
                seconds, column, extra = player.thoughts()
            else:
                seconds, column, extra = player.move(ply, mark, overage, body)
            sock.sendall(pack_reply(seconds, column, extra))
    finally:
        os._exit(0)  # a fork must not run its parent's exit handlers


def serve_alone(sock: socket.socket, parent: int = 0, prepared: Preload | None = None) -> None:
    """Serves the agent that the socket's first message names, in a process that is this agent's.

    If it is an archive, its folder is mounted where Kaggle has it, if this system allows that.

    Args:
        parent: the process that has forked this one; 0 for a new interpreter.
        prepared: what was done before it was forked.
    """
    (length,) = LENGTH.unpack(sock.recv(LENGTH.size, socket.MSG_WAITALL))
    told = json.loads(sock.recv(length, socket.MSG_WAITALL))
    sys.path[:] = told["path"]
    spec, place, missing = AgentSpec(*told["spec"]), told["place"], ""
    if spec.is_users_code:
        with contextlib.suppress(OSError):  # a precaution, which not every system allows
            hide_credentials()
        try:
            place = spec.alone(place)
        except OSError as problem:
            missing = f"{FOLDER} cannot be shown here: {problem.strerror}"
    die_with_parent()  # not earlier: entering a user namespace would undo it
    if not parent or os.getppid() == parent:  # else the parent died before the lines above
        serve_agent(sock, spec, place, missing, prepared)


def serve_interpreter(descriptor: int, parent: int, token: str) -> None:
    """Entry point of a new interpreter (see ``connectx_toolkit.players.fork_server``).

    Args:
        descriptor: of the socket that orders forks come from; with a ``token``, a port of this machine, where the token
            is told and this process then serves an agent itself.
        parent: the process that has started this one; of no use with a ``token``.
    """
    import numpy.random  # noqa: F401 (not for the fork of a callable)

    if token:
        sock = socket.create_connection(("127.0.0.1", descriptor))
        sock.sendall(token.encode())
        serve_alone(sock)
    else:
        serve_forks(socket.socket(fileno=descriptor), parent)


def serve_forks(orders: socket.socket, parent: int) -> None:
    """Forks agents' processes and tells how they ended, until the other end closes the socket or ``parent`` ends.

    Then all of them are killed, and what they have started: on Linux this process adopts what its agents leave behind.
    """
    agents: set[int] = set()
    prepared = Preload()
    try:
        signal.signal(signal.SIGTERM, lambda *_: orders.shutdown(socket.SHUT_RDWR))  # the loop below ends
        die_with_parent("SIGTERM")
        if prctl := c_function("prctl"):
            prctl(PR_SET_CHILD_SUBREAPER, 1)
        gc.freeze()  # else a collection in a fork would copy the memory of all that is imported here
        while os.getppid() == parent:
            order, descriptors, _, _ = socket.recv_fds(orders, ORDER.size, 1)
            if not order:
                break
            if descriptors:
                size = ORDER.unpack(order)[1]
                told = json.loads(orders.recv(size, socket.MSG_WAITALL))
                prepared.prepare(told["packages"], told["source"] and KnownSource(*told["source"]))
                pid, status = _fork(orders, descriptors[0], prepared), 0
                os.close(descriptors[0])
                agents.add(pid)
            else:
                pid, status = _wait_for_agent(*ORDER.unpack(order))
                agents.discard(pid)
                for stray in _children() - agents:
                    os.waitpid(stray, os.WNOHANG)
            orders.sendall(ORDER.pack(pid, status))
    finally:
        for pid in agents:
            end(Forked(pid))
        while left := _children():
            for pid in left:
                end(Forked(pid))
                os.waitpid(pid, 0)
        os._exit(0)


def _fork(orders: socket.socket, descriptor: int, prepared: Preload) -> int:
    """The id of a new process that serves the agent at the other end of a socket."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()  # killpg kills the agent's own children, too
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            orders.close()
            prepared.hide()
            serve_alone(socket.socket(fileno=descriptor), parent, prepared)
        finally:
            os._exit(1)
    return pid


def _wait_for_agent(pid: int, options: int) -> tuple[int, int]:
    """What ``os.waitpid`` tells of an agent's process; SIGKILL of one that an earlier prepared process took along."""
    try:
        return os.waitpid(pid, options)
    except ChildProcessError:
        return pid, signal.SIGKILL


def _children() -> set[int]:
    """The processes whose parent is this one; none where the system does not tell."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return {int(pid) for pid in file.read().split()}
    except OSError:
        return set()


OMP_PAUSE_HARD = 2  # omp.h: the pool ends
SINGLE = {  # part of a library's name: functions that set its number of threads; wheels rename those of OpenBLAS
    "libgomp": ("omp_set_num_threads",),
    "openblas": tuple(f"{p}openblas_set_num_threads{s}" for p in ("", "scipy_") for s in ("", "64_")),
}
REMEDY = "isolate=False and one worker let it play in this process"
NEEDS_THIS_PROCESS = "a GPU, JAX and numba's parallel=True need isolate=False"


def _libraries_with(part: str) -> Iterator[ctypes.CDLL]:
    """The libraries loaded in this process with ``part`` in their path; none if the system does not list them."""
    with contextlib.suppress(OSError):
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            paths = {line.split(maxsplit=5)[5].strip() for line in file if part in line}
        for path in sorted(paths):
            with contextlib.suppress(OSError):  # the file has been replaced since
                yield ctypes.CDLL(path)


def end_pools() -> None:
    """Ends this thread's GNU OpenMP pools before a fork, in 7 ms. They start again when needed.

    Does nothing in a process that was forked itself: the pool's threads may be missing there, and waiting for them
    would never end.
    """
    import multiprocessing  # here alone: an agent's process does without

    if multiprocessing.parent_process() is None:
        for library in _libraries_with("libgomp"):
            if hasattr(library, "omp_pause_resource_all"):  # since GCC 9
                library.omp_pause_resource_all(OMP_PAUSE_HARD)


def use_one_thread() -> None:
    """Makes the loaded libraries use one thread: a fork has one core, where more are slower or missing (see above)."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
    for part, names in SINGLE.items():
        for library in _libraries_with(part):
            for name in names:
                if hasattr(library, name):
                    getattr(library, name)(1)


def obstacle() -> str:
    """Why no callable of this process can be played in a fork, with the remedy; "" if nothing is known against it."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is None or not bridge.backends_are_initialized():
        return ""
    return f"JAX runs in this process, and a copy of it would wait for JAX's threads for ever: {REMEDY}"
