"""Starts new Python interpreters for agents: one from which all are forked, or, where there is no fork, one for each.

What the forks share is what any program finds on a machine: the environment, the folder, the seed of Python's hashes.
"""

import contextlib
import hmac
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import weakref

from connectx_toolkit.kaggle.preload import KnownSource
from connectx_toolkit.players.protocol import ORDER
from connectx_toolkit.system.console import ProcessFailed
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.system.posix import Forked, signal_name, without_groups

START_LIMIT = 60.0  # seconds for a new interpreter to answer; it takes 0.2 on an idle machine
CLOSE_LIMIT = 5.0  # seconds for it to end all agents; it takes milliseconds
CREDENTIAL = re.compile(
    r"^KAGGLE_|(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|KEY)(_|$)|^SSH_AUTH_SOCK$", re.IGNORECASE
)

_BOOT = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]  # a json.py in the current folder is not ours
import json
settings = json.loads(sys.argv.pop())
sys.path[:] = settings.pop("path")
from connectx_toolkit.players.child import serve_interpreter
serve_interpreter(**settings)
"""

our_sockets: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()  # no other process may keep them open


class ForkServer:
    """The process from which those of agents are forked. It starts when it is needed, again if it has ended.

    Like its agents, it ends with the thread that has started it. ``close`` ends all of them.
    """

    def __init__(self) -> None:
        self.packages: dict[str, None] = {}  # that agents have imported so far, of ``preload.HEAVY``
        self._process: subprocess.Popen | None = None
        self._orders: socket.socket | None = None

    def fork(self, theirs: socket.socket, source: KnownSource | None) -> Forked:
        """A process that serves an agent at a socket, forked after its preparation. Raises ProcessFailed.

        Args:
            source: the agent's file, if it has been loaded before.
        """
        body = json.dumps({"packages": list(self.packages), "source": source}).encode()
        for _ in range(2):
            if self._orders is None:
                self._start()
            with contextlib.suppress(OSError):  # an agent has killed it, or its thread has ended
                return Forked(self._order((0, len(body)), body, theirs)[0], self._waitpid)
            self.close()
        raise ProcessFailed("the process that starts agents does not answer")

    def close(self) -> None:
        if self._process is not None and self._orders is not None:
            self._orders.close()
            try:
                self._process.wait(CLOSE_LIMIT)
            except subprocess.TimeoutExpired:
                self._process.kill()  # an agent has suspended it
                self._process.wait()
        self._orders = self._process = None

    def _start(self) -> None:
        self._orders, theirs = socket.socketpair()
        self._orders.settimeout(START_LIMIT)
        our_sockets.add(self._orders)
        with theirs:
            self._process = start_interpreter(theirs.fileno())

    def _order(self, order: tuple[int, int], body: bytes = b"", *sockets: socket.socket) -> tuple[int, int]:
        assert self._orders is not None
        socket.send_fds(self._orders, [ORDER.pack(*order), body], [each.fileno() for each in sockets])
        answer = self._orders.recv(ORDER.size)
        if not answer:
            raise ConnectionResetError
        return ORDER.unpack(answer)

    def _waitpid(self, pid: int, options: int) -> tuple[int, int]:
        """As ``os.waitpid``. What it has forked is killed when it ends."""
        with contextlib.suppress(OSError):
            if self._orders is not None:
                return self._order((pid, options))
        return pid, signal.SIGKILL


def start_interpreter(descriptor: int, token: str = "") -> subprocess.Popen:
    """A new interpreter that serves at a descriptor that it inherits; with a ``token``, at a port."""
    settings = {"path": [str(ROOT), *sys.path], "descriptor": descriptor, "parent": os.getpid(), "token": token}
    options = {"pass_fds": [descriptor], "start_new_session": True}  # Ctrl-C must not reach it
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, json.dumps(settings)],
        env={name: value for name, value in os.environ.items() if not CREDENTIAL.search(name)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **without_groups(options),
    )


def start_and_accept() -> tuple[subprocess.Popen, socket.socket]:
    """A new interpreter where none inherits a socket: it connects to this machine's own address, with a token.

    Raises ProcessFailed: it does not.
    """
    token, sock = secrets.token_hex(16), None
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(0.2)  # seconds between looks at the process
        process = start_interpreter(door.getsockname()[1], token)
        deadline = time.perf_counter() + START_LIMIT
        while sock is None and process.poll() is None and time.perf_counter() < deadline:
            with contextlib.suppress(TimeoutError):
                sock = _check_token(door.accept()[0], token)
    if sock is None:
        process.kill()
        raise ProcessFailed(f"the process of an agent does not start: {exit_reason(process.wait())}")
    return process, sock


def _check_token(sock: socket.socket, token: str) -> socket.socket | None:
    """The socket if who has connected begins with the token; else None, and it is closed."""
    sock.settimeout(START_LIMIT)
    told = b""
    with contextlib.suppress(OSError):
        while len(told) < len(token) and (part := sock.recv(len(token) - len(told))):
            told += part
    if hmac.compare_digest(told, token.encode()):
        return sock
    sock.close()
    return None


def exit_reason(code: int) -> str:
    return f"killed by {signal_name(-code)}" if code < 0 else f"exit code {code}"
