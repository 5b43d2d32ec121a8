"""A game in Kaggle's environment with a process for each seat, as on Kaggle.

The referee is Kaggle's ``Environment.run`` with two functions that pass on each question. Each seat is Kaggle's
``Agent`` in a process of its own, which loads the file at its first move, measures the time, captures the output, and
checks the clock. Questions and replies are sent as JSON, as over Kaggle's HTTP.
"""

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any, TextIO

from connectx_toolkit.kaggle.raised import raised
from connectx_toolkit.kaggle.sandbox import NoPlace
from connectx_toolkit.system.cores import seed_everything, waiting
from connectx_toolkit.system.posix import signal_name

STDERR_KEPT = 3000  # characters per seat
SETTLE_SECONDS = 60.0  # for a new process to get ready; not on any game clock
GRACE = 1.0  # seconds that Kaggle waits for a reply beyond what the clock allows


def environment_of(config: Mapping[str, Any], overage: float) -> Any:
    """Kaggle's environment with a configuration, and with ``overage`` seconds of overage time instead of its own.

    The import takes over a second with old versions of the package; making one takes as long as a short game.
    """
    from kaggle_environments import environments, make

    parts = dict(environments["connectx"])
    observation = {**parts["specification"]["observation"], "remainingOverageTime": overage}
    parts["specification"] = {**parts["specification"], "observation": observation}
    return make(parts, configuration=dict(config))


def reply_of(agent: Any, observation: Any) -> dict[str, Any]:
    """One move of a Kaggle ``Agent``, in a form that JSON can hold.

    Keys: "action", "late", or "fault" with a text and "raised", a ``Raised``; "stderr", its end; and "said", the
    beginning of all that was printed.
    """
    from kaggle_environments.errors import DeadlineExceeded

    try:
        action, log = agent.act(observation)
    except BaseException as fault:  # SystemExit and KeyboardInterrupt, which Kaggle's Agent does not catch
        text = f"{type(fault).__name__} escapes: {str(fault)[:300]}"
        return {"fault": text, "raised": raised(fault), "stderr": ""}
    out, err = (log.get(stream, "") for stream in ("stdout", "stderr"))
    reply = {"stderr": err[-STDERR_KEPT:], "said": f"{out}\n{err}"[:STDERR_KEPT]}
    if isinstance(action, DeadlineExceeded):
        return reply | {"late": True}
    if isinstance(action, BaseException):
        told = raised(action)
        return reply | {"fault": told.line, "raised": told}
    try:
        json.dumps(action)
    except (TypeError, ValueError, RecursionError):
        action = repr(action)[:80]  # a string is just as invalid
    return reply | {"action": action}


def serve_seat(
    raw: str, env: Any, number: int, asked: TextIO, replies: TextIO, settle: Callable[[], Callable[[], list]]
) -> None:
    """Moves to the judge's place, reports it, and answers observations until the referee closes ``asked``.

    ``number`` seeds what is random: forks of one parent would otherwise draw alike, unlike Kaggle's processes.
    """
    from kaggle_environments.agent import Agent
    from kaggle_environments.utils import structify

    try:
        findings = settle()
    except NoPlace as fault:
        print(json.dumps({"no place": str(fault)}), file=replies, flush=True)
        return
    seed(number)
    agent = Agent(raw, env)
    print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in asked:
        reply = reply_of(agent, structify(json.loads(line)))
        print(json.dumps(reply | {"seen": findings()}), file=replies, flush=True)


class Seat:
    """One player's process, as the referee sees it."""

    pid: int

    def __init__(self) -> None:
        self._rest = b""
        self.stderr = self.said = ""  # said: at its first move
        self.waited: list[float] = []  # seconds, for a processor, at each move
        self.last: dict[str, Any] = {}
        self.seen: list[list[str]] = []

    def ask(self, observation: Any, seconds: float) -> dict[str, Any]:
        """The seat's reply to an observation."""
        waited = waiting(str(self.pid))
        with contextlib.suppress(OSError):  # it has ended
            self._send(json.dumps(observation).encode() + b"\n")
        reply = self.last = self.receive(seconds)
        self.stderr = (self.stderr + reply.get("stderr", ""))[-STDERR_KEPT:]
        self.said = self.said or reply.get("said", "")
        self.seen += reply.get("seen", [])
        self.waited.append(waited())
        return reply

    def receive(self, seconds: float) -> dict[str, Any]:
        """The next line from the seat; {"late": True} if there is none within ``seconds``."""
        deadline = time.perf_counter() + seconds
        while b"\n" not in self._rest:
            chunk = self._chunk(max(0.0, deadline - time.perf_counter()))
            if chunk is None:
                return {"late": True}
            if not chunk:
                return {"fault": f"the process {self.ending()}"}
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def ending(self) -> str:
        """How a process that has closed its pipe ended."""
        code = self._wait()
        return f"ended itself with exit code {code}" if code >= 0 else f"was ended by {signal_name(-code)}"

    def close(self) -> None:
        """Ends the process."""
        raise NotImplementedError

    def _send(self, line: bytes) -> None:
        raise NotImplementedError

    def _chunk(self, seconds: float) -> bytes | None:
        """Bytes from the process; b"" if it has closed its pipe, None if none come within ``seconds``."""
        raise NotImplementedError

    def _wait(self) -> int:
        """Its exit code, once it has ended."""
        raise NotImplementedError


class ForkedSeat(Seat):
    """A player in a fork of the referee.

    Args:
        serve: called in the new process with the descriptors for questions and answers.
    """

    def __init__(self, serve: Callable[[int, int], None]):
        super().__init__()
        their_questions, self._questions = os.pipe()
        self._answers, their_answers = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._questions)
                os.close(self._answers)
                serve(their_questions, their_answers)
            finally:
                os._exit(1)  # whatever happens, this process never goes on as a second referee
        os.close(their_questions)
        os.close(their_answers)

    def _send(self, line: bytes) -> None:
        os.write(self._questions, line)

    def _chunk(self, seconds: float) -> bytes | None:
        return os.read(self._answers, 1 << 16) if select.select([self._answers], [], [], seconds)[0] else None

    def _wait(self) -> int:
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        os.close(self._questions)
        os.close(self._answers)
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


class SpawnedSeat(Seat):
    """A player in a new interpreter, where there is no fork.

    Args:
        command: starts it; it takes ``job`` as its first line, then questions.
    """

    def __init__(self, command: list[str], job: dict[str, Any]):
        super().__init__()
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self._process.pid
        self._chunks: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=self._pass_on, daemon=True).start()  # a thread can wait for a pipe everywhere
        self._send(json.dumps(job).encode() + b"\n")

    def _pass_on(self) -> None:
        assert self._process.stdout is not None
        while chunk := os.read(self._process.stdout.fileno(), 1 << 16):
            self._chunks.put(chunk)
        self._chunks.put(b"")

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def _chunk(self, seconds: float) -> bytes | None:
        with contextlib.suppress(Empty):
            return self._chunks.get(timeout=max(seconds, 1e-3))
        return None

    def _wait(self) -> int:
        return self._process.wait()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def player(seat: Seat, act_timeout: float, progress: Callable[[str], None]) -> Callable[[Any, Any], Any]:
    """The agent function for a seat in Kaggle's environment: it answers, fails or is late as the seat does."""
    from kaggle_environments.errors import DeadlineExceeded

    def ask(observation: Any, configuration: Any) -> Any:
        overage = observation["remainingOverageTime"]
        progress(f"ply {observation['step']}, {max(0.0, overage):.0f} s of overage time")
        reply = seat.ask(observation, overage + act_timeout + GRACE)
        if "late" in reply:
            return DeadlineExceeded()
        return RuntimeError(reply["fault"]) if "fault" in reply else reply["action"]

    return ask


def play(
    job: dict[str, Any], progress: Callable[[str], None], start: Callable[[Any, str, int], Seat]
) -> dict[str, Any]:
    """Plays ``job["files"]``, two paths or texts for Kaggle's loader, against each other.

    Args:
        progress: called with the id of each seat's process, and at each move.
        start: starts a seat's process, of the environment, the seat's file, and the number that seeds it.

    Raises:
        NoPlace: a process cannot be moved there.
        Exception: anything that Kaggle's environment does not catch.
    """
    env = environment_of(job["config"], job["overage"])
    seats = [start(env, raw, 2 * job["seed"] + seat) for seat, raw in enumerate(job["files"])]
    try:
        for seat in seats:
            progress(f"pid {seat.pid}")
            first = seat.receive(SETTLE_SECONDS)
            if "ready" not in first:
                raise NoPlace(first.get("no place", "a seat's process does not start"))
        steps = env.run([player(seat, env.configuration.actTimeout, progress) for seat in seats])
    finally:
        for seat in seats:
            seat.close()
    logs = [[entry[seat] for entry in env.logs if len(entry) > seat and entry[seat]] for seat in (0, 1)]
    return {
        "statuses": [str(state.status) for state in steps[-1]],
        "rewards": [state.reward for state in steps[-1]],
        "plies": len(steps) - 1,
        "overages": [state.observation.remainingOverageTime for state in steps[-1]],
        "durations": [[entry.get("duration", 0.0) for entry in log] for log in logs],
        "waited": [seat.waited for seat in seats],
        "board": steps[-1][0].observation.board,
        "last": [
            {key: value for key, value in seat.last.items() if key in ("action", "fault", "raised")} for seat in seats
        ],
        "stderr": [seat.stderr for seat in seats],
        "said": [seat.said for seat in seats],
        "seen": [found for seat in seats for found in seat.seen],
    }


def seed(number: int) -> None:
    """Seeds all generators, and what numpy's new ones begin with if they are given none.

    A verdict that is a coin would change from run to run; what draws from the system itself (``random.Random()``,
    ``secrets``) still does.
    """
    seed_everything(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.bit_generator.randbits = random.Random(number).getrandbits
