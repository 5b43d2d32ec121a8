"""Asks an agent outside a game, for the pre-flight and the comparison: its replies, their times, the next question.

Imports little: the code under test must find what the judge's process has, and no more.
"""

import contextlib
import copy
import io
import json
import os
import random
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any
from zlib import crc32

from connectx_core.position import STANDARD, Position
from connectx_toolkit.kaggle import seats
from connectx_toolkit.kaggle.raised import to_raised
from connectx_toolkit.kaggle.seats import call_here
from connectx_toolkit.system.cores import all_cores, waiting


def signature_of(function):
    """The signature of what is called with (obs, config): of a decorator's function, not of what it wraps."""
    import inspect

    try:
        return inspect.signature(function, follow_wrapped=not inspect.isfunction(function))
    except TypeError:
        raise
    except Exception:  # a __getattr__ of the user's may raise anything
        return inspect.signature(function.__call__)


def count_arguments(function):
    """How many of (obs, config) a function takes."""
    import inspect

    kinds = [parameter.kind for parameter in signature_of(function).parameters.values()]
    return 2 if inspect.Parameter.VAR_POSITIONAL in kinds else len(kinds)


def call_as_kaggle(agent, arguments):
    """Calls the agent as Kaggle does, with as many arguments as its code object has."""
    code = getattr(agent, "__code__", None)
    return agent(*arguments[: code.co_argcount] if code is not None else arguments)


class MoveThread(threading.Thread):
    """One of ``NewThreads``."""


class NewThreads:
    """Calls each function in a new thread, as Kaggle's server does each move.

    The system gives the number of a thread that has ended to a new one, and what checks numbers, as sqlite3 does, would
    see no difference: so the first two, of the load and of the first move, stay, and others until the next has begun.
    """

    def __init__(self) -> None:
        self._waiting: list[threading.Event] = []

    def call(self, function: Callable, *arguments: Any) -> Any:
        """What the function returns; raises what it raises."""
        result, problem = None, None
        is_done, may_end = threading.Event(), threading.Event()

        def run() -> None:
            nonlocal result, problem
            try:
                result = function(*arguments)
            except BaseException as raised_there:  # SystemExit, too
                problem = raised_there
            is_done.set()
            may_end.wait()

        MoveThread(target=run, daemon=True).start()
        self._waiting.append(may_end)
        for event in self._waiting[2:-1]:
            event.set()
        del self._waiting[2:-1]
        is_done.wait()
        if problem is not None:
            raise problem
        return result


def describe_reply(value):
    """Describes a reply: (name of its type, its value as an int or None, its text)."""
    try:
        column = None if isinstance(value, (bool, float)) else int(value.__index__())
    except Exception:
        column = None
    return type(value).__name__, column, repr(value)[:80]


def count_threads():
    """Python's threads; or all threads, if there are more than numpy's (one a core) plus the guard's two.

    Those of ``NewThreads`` do not count.
    """
    ours = sum(isinstance(thread, MoveThread) for thread in threading.enumerate())
    tasks = len(os.listdir("/proc/self/task")) - ours if os.path.isdir("/proc/self/task") else 1
    return max(threading.active_count() - ours, tasks if tasks > len(all_cores()) + 2 else 1)


def shift_clocks(seconds: float) -> None:
    """Sets this process's clocks forward, for code that asks Python's module ``time``."""
    for name in ("time", "monotonic", "perf_counter"):
        clock, in_ns = getattr(time, name), getattr(time, f"{name}_ns")
        setattr(time, name, lambda clock=clock: clock() + seconds)
        setattr(time, f"{name}_ns", lambda in_ns=in_ns: in_ns() + int(seconds * 1e9))


def seed_of(question: Mapping[str, Any]) -> int:
    """What is random is seeded by the question alone, so that two sides draw alike."""
    return crc32(json.dumps([question["obs"], question["config"]]).encode())


def ask_agent(agent, question, raw_path, structify, draw=0, through=call_here):
    """Calls the agent directly: its reply, what it printed to stderr, its seconds, and those that it waited of them.

    The agent may write on its board: it gets a copy. ``draw``: another one, and other random numbers are drawn.
    ``through``: calls it.
    """
    obs, config = (structify(copy.deepcopy(question[name])) for name in ("obs", "config"))
    config["__raw_path__"] = raw_path  # as Kaggle's loader does: an item, not an attribute
    seats.seed_process(seed_of(question) + draw)
    out, err = io.StringIO(), io.StringIO()
    started, waited = time.perf_counter(), waiting("self")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        fault = None
        try:
            kind, column, text = describe_reply(through(call_as_kaggle, agent, [obs, config]))
        except Exception as problem:
            kind, column, text = "exception", None, repr(problem)[:300]
            fault = to_raised(problem)
    return {
        "type": kind,
        "column": column,
        "text": text,
        "fault": fault,
        "seconds": time.perf_counter() - started,
        "waited": waited(),
        "stderr": err.getvalue()[-600:],
        "threads": count_threads(),
        "printed": len(out.getvalue()) + len(err.getvalue()),
    }


def questions_of(unit: Mapping[str, Any]) -> Generator[Mapping[str, Any], int | None, None]:
    """The questions of a unit, which is sent the columns that are played.

    A unit is a question, or with "game", a number, a game from its empty board: the agent has one seat, the other one
    wins where it can, blocks where it must, and else draws its moves. It ends with a column that cannot be played.
    """
    if "game" not in unit:
        yield unit
        return
    draw, position = random.Random(unit["game"]), Position.empty(STANDARD)
    while not position.is_over():
        legal = position.legal_columns()
        if position.ply % 2 == unit["game"] % 2:
            obs = {"board": position.to_board(), "mark": 1 + position.ply % 2, "step": position.ply}
            column = yield {"obs": unit["obs"] | obs, "config": unit["config"]}
            if column not in legal:
                return
        else:
            threats = position.pass_turn().winning_columns()
            column = draw.choice(position.winning_columns() or threats or legal)
        position = position.play(column)


def ask_in_turn(
    ask: Callable[[Mapping[str, Any]], dict[str, Any]],
    kinds: Mapping[str, Sequence[Mapping[str, Any]]],
    stop_after: float = float("inf"),
    at_least: int = 1,
    enough: tuple[float, float] = (float("inf"), 0.0),
) -> Iterator[dict[str, Any]]:
    """Asks next of the kind that has taken the least time so far, until all is asked or the time is over.

    Args:
        ask: gives the reply to a question, as ``ask_agent`` does.
        kinds: name -> units of ``questions_of``.
        stop_after: seconds of moves until the end, once ``at_least`` are asked. What was waited for a processor does
            not count: a busy machine asks no less than an idle one.
        enough: (count, seconds): it also ends from that count on if so many usual moves take that long. What compiles
            at a first move says nothing of the others.

    Yields:
        Each reply, with its "obs" and "config", its "kind", and the number of its "unit" among them.
    """
    left, spent = {kind: list(enumerate(units)) for kind, units in kinds.items() if units}, dict.fromkeys(kinds, 0.0)
    times = list[float]()
    while left:
        kind = min(left, key=spent.__getitem__)
        number, unit = left[kind].pop(0)
        if not left[kind]:
            del left[kind]
        questions = questions_of(unit)
        question: Mapping[str, Any] | None = next(questions)
        while question is not None:
            reply = ask(question)
            yield reply | {"obs": question["obs"], "config": question["config"], "kind": kind, "unit": number}
            times.append(max(0.0, reply["seconds"] - reply["waited"]))
            spent[kind] += times[-1]
            is_long = len(times) >= at_least and sum(times) >= stop_after
            if is_long or (len(times) >= enough[0] and len(times) * sorted(times)[len(times) // 2] > enough[1]):
                return
            try:
                question = questions.send(reply["column"])
            except StopIteration:
                question = None
