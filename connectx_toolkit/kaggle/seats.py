"""A game in Kaggle's environment with a process for each seat, as on Kaggle.

The referee is Kaggle's ``Environment.run`` with two functions that pass on each question. Each seat is Kaggle's
``Agent`` in a process of its own, which loads the file at its first move, measures the time, captures the output, and
checks the clock. Questions and replies are sent as JSON, as over Kaggle's HTTP.
"""

import contextlib
import io
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, TextIO

from connectx_toolkit.kaggle.raised import to_raised
from connectx_toolkit.kaggle.sandbox import NoSandbox
from connectx_toolkit.system.cores import seed_everything, waiting
from connectx_toolkit.system.posix import signal_name

STDERR_KEPT = 3000  # characters per seat
SETTLE_SECONDS = 60.0  # for a new process to get ready; not on any game clock
REPLY_GRACE = 1.0  # seconds that Kaggle waits for a reply beyond what the clock allows


_CHECKED = set[str]()  # schemas, as texts


@contextlib.contextmanager
def schemas_checked_once() -> Iterator[None]:
    """In the block, jsonschema checks a schema the first time that this process uses it, not at each state of a game.

    Kaggle's schemas are the same in all games, and to check them takes two thirds of a short one. States are validated
    as ever.
    """
    from jsonschema import validators

    validator = validators.validator_for({})
    checks, check = vars(validator)["check_schema"], validator.check_schema

    def check_new(schema: Any, *arguments: Any, **options: Any) -> None:
        if (text := repr(schema)) not in _CHECKED:
            check(schema, *arguments, **options)
            _CHECKED.add(text)

    validator.check_schema = check_new
    try:
        yield
    finally:
        validator.check_schema = checks  # as it was: a method of the class


def environment_of(config: Mapping[str, Any], overage: float) -> Any:
    """Kaggle's environment with a configuration, and with ``overage`` seconds of overage time instead of its own.

    The import takes over a second with old versions of the package; making one takes as long as a short game.
    """
    with contextlib.redirect_stdout(io.StringIO()):  # which other environments could not be loaded
        from kaggle_environments import environments, make

    parts = dict(environments["connectx"])
    observation = {**parts["specification"]["observation"], "remainingOverageTime": overage}
    parts["specification"] = {**parts["specification"], "observation": observation}
    env = make(parts, configuration=dict(config))
    env.__class__ = _with_known_schema(type(env))  # type: ignore[arg-type]
    return env


@cache
def _with_known_schema(environment: type) -> type:
    """Kaggle's class, but for the schema of its states, which it makes anew six times a ply: here once a game."""
    name = "_Environment__state_schema"
    made = vars(environment).get(name)  # in 1.33 a property; elsewhere all stays as it is
    known = {name: cached_property(made.fget)} if isinstance(made, property) and made.fget else {}
    return type(environment.__name__, (environment,), known)


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
        return {"fault": text, "raised": to_raised(fault), "stderr": ""}
    out, err = (log.get(stream, "") for stream in ("stdout", "stderr"))
    reply = {"stderr": err[-STDERR_KEPT:], "said": f"{out}\n{err}"[:STDERR_KEPT]}
    if isinstance(action, DeadlineExceeded):
        return reply | {"late": True}
    if isinstance(action, BaseException):
        told = to_raised(action)
        return reply | {"fault": told.line, "raised": told}
    try:
        json.dumps(action)
    except (TypeError, ValueError, RecursionError):
        action = repr(action)[:80]  # a string is just as invalid
    return reply | {"action": action}


def call_here(function: Callable, *arguments: Any) -> Any:
    """Calls a function in this thread, as ``Environment.run`` does; Kaggle's server calls each move in a new one."""
    return function(*arguments)


def serve_seat(
    raw: str,
    env: Any,
    number: int,
    asked: TextIO,
    replies: TextIO,
    settle: Callable[[], Callable[[], list]],
    call: Callable,
) -> None:
    """Moves to the judge's place, reports it, and answers observations until the referee closes ``asked``.

    Args:
        number: seeds what is random: forks of one parent would otherwise draw alike, unlike Kaggle's processes.
        call: calls each move, the first of which loads the file.
    """
    from kaggle_environments.agent import Agent
    from kaggle_environments.utils import structify

    try:
        findings = settle()
    except NoSandbox as fault:
        print(json.dumps({"no sandbox": str(fault)}), file=replies, flush=True)
        return
    seed_process(number)
    agent = Agent(raw, env)
    print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in asked:
        reply = call(reply_of, agent, structify(json.loads(line)))
        print(json.dumps(reply | {"seen": findings()}), file=replies, flush=True)


class Seat:
    """One player's process, as the referee sees it.

    Args:
        process: with the interface of ``connectx_toolkit.kaggle.jobs.ForkedProcess``.
    """

    def __init__(self, process: Any):
        self.process, self._rest = process, b""
        self.stderr = self.said = ""  # said: at its first move
        self.waited: list[float] = []  # seconds, for a processor, at each move
        self.last: dict[str, Any] = {}
        self.seen: list[list[str]] = []

    def ask(self, observation: Any, seconds: float) -> dict[str, Any]:
        """The seat's reply to an observation."""
        waited = waiting(str(self.process.pid))
        self.process.send(json.dumps(observation).encode() + b"\n")
        reply = self.last = self.receive(seconds)
        self.stderr = (self.stderr + reply.get("stderr", ""))[-STDERR_KEPT:]
        self.said = self.said or reply.get("said", "")
        self.seen += reply.get("seen", [])
        self.waited.append(waited())
        return reply

    def receive(self, seconds: float) -> dict[str, Any]:
        """The next line from the seat; {"late": True} if there is none within ``seconds``."""
        deadline, left = time.perf_counter() + seconds, seconds
        while b"\n" not in self._rest:
            for is_answer, chunk in self.process.read(max(0.0, left)):
                if is_answer and not chunk:
                    return {"fault": f"the process {self._ending()}"}
                self._rest += chunk if is_answer else b""
            if left < 0 and b"\n" not in self._rest:
                return {"late": True}
            left = deadline - time.perf_counter()
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def _ending(self) -> str:
        """How a process that has closed its pipe ended."""
        code, _ = self.process.wait()
        return f"ended itself with exit code {code}" if code >= 0 else f"was ended by {signal_name(-code)}"


def player_of(seat: Seat, act_timeout: float, progress: Callable[[str], None]) -> Callable[[Any, Any], Any]:
    """The agent function for a seat in Kaggle's environment: it answers, fails or is late as the seat does."""
    from kaggle_environments.errors import DeadlineExceeded

    def ask(observation: Any, configuration: Any) -> Any:
        overage = observation["remainingOverageTime"]
        progress(f"ply {observation['step']}, {max(0.0, overage):.0f} s of overage time")
        reply = seat.ask(observation, overage + act_timeout + REPLY_GRACE)
        if "late" in reply:
            return DeadlineExceeded()
        return RuntimeError(reply["fault"]) if "fault" in reply else reply["action"]

    return ask


def run_game(
    job: dict[str, Any], progress: Callable[[str], None], start: Callable[[Any, str, int], Any]
) -> dict[str, Any]:
    """Plays ``job["files"]``, two paths or texts for Kaggle's loader, against each other.

    Args:
        progress: called with the id of each seat's process, and at each move.
        start: starts a seat's process (``Seat.process``), of the environment, the seat's file, and the number that
            seeds it.

    Raises:
        NoSandbox: a process cannot be moved there.
        Exception: anything that Kaggle's environment does not catch.
    """
    with schemas_checked_once():
        env = environment_of(job["config"], job["overage"])
    seats = [Seat(start(env, raw, 2 * job["seed"] + seat)) for seat, raw in enumerate(job["files"])]
    try:
        for seat in seats:
            progress(f"pid {seat.process.pid}")
            first = seat.receive(SETTLE_SECONDS)
            if "ready" not in first:
                raise NoSandbox(first.get("no sandbox", "a seat's process does not start"))
        with schemas_checked_once():
            steps = env.run([player_of(seat, env.configuration.actTimeout, progress) for seat in seats])
    finally:
        for seat in seats:
            seat.process.end()
    told = ("action", "fault", "raised")
    logs = [[entry[seat] for entry in env.logs if len(entry) > seat and entry[seat]] for seat in (0, 1)]
    return {
        "statuses": [str(state.status) for state in steps[-1]],
        "rewards": [state.reward for state in steps[-1]],
        "plies": len(steps) - 1,
        "overages": [state.observation.remainingOverageTime for state in steps[-1]],
        "durations": [[entry.get("duration", 0.0) for entry in log] for log in logs],
        "waited": [seat.waited for seat in seats],
        "board": steps[-1][0].observation.board,
        "last": [{key: seat.last[key] for key in told if key in seat.last} for seat in seats],
        "stderr": [seat.stderr for seat in seats],
        "said": [seat.said for seat in seats],
        "seen": [finding for seat in seats for finding in seat.seen],
    }


def seed_process(number: int) -> None:
    """Seeds all generators, and what numpy's new ones begin with if they are given none.

    A verdict that is a coin would change from run to run; what draws from the system itself (``random.Random()``,
    ``secrets``) still does.
    """
    seed_everything(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.bit_generator.randbits = random.Random(number).getrandbits
