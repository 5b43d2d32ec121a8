"""The guard of a submission: whatever its agent does, it answers in time and with a legal column.

The builder copies this file unchanged into every submission, where it runs in a namespace of its own and uses only the
standard library.

The agent's code, including its load, runs in a thread of its own, while the caller waits until a deadline. This works
for Python code, and for compiled code that returns now and then or releases the interpreter's lock (GIL). It does not
work for compiled code that holds the lock for ever; only the build's checks find that.
"""

import contextlib
import ctypes
import gc
import importlib
import inspect
import io
import operator
import os
import queue
import re
import sys
import textwrap
import threading
import time
import traceback
import weakref

LOAD_WAIT = 30.0  # seconds that executing the file waits for the load; then the first move waits, by its own clock
MARGIN = 0.3  # seconds of actTimeout + overage time kept back for the referee and for waking up on a busy machine ...
MARGIN_SHARE = 0.15  # ... but at most this share of actTimeout
DESCRIBED = 240  # characters of a fault's text that are reported
ANSI = re.compile(r"\x1b\[[0-9;]*m")  # in messages of torch


class Overdue(BaseException):
    """Raised inside the agent's thread when its move is given up, so that it stops computing."""


class Job:
    """A call for the agent's thread. It always reaches an end, even if it is cancelled, is interrupted or fails."""

    def __init__(self, function):
        self.function = function
        self.result = None
        self.fault = None
        self.ended_at = None
        self.is_running = False
        self.is_cancelled = False
        self._ended = threading.Event()

    def run(self):
        try:
            self.is_running = True
            if not self.is_cancelled:
                replace_closed_streams()
                self.result = self.function()
        except BaseException as fault:  # SystemExit included: nothing may reach the referee
            self.fault = fault

    def end(self):
        self.ended_at = time.perf_counter()
        self._ended.set()

    def has_ended(self, deadline):
        """Waits for the end of the job until ``deadline``, a time.perf_counter() value or None; returns if it ended."""
        return self._ended.wait(None if deadline is None else max(0.0, deadline - time.perf_counter()))


def replace_closed_streams():
    """Lets what is printed to a stream that the judge has closed go nowhere: it would raise an exception."""
    for name in ("stdout", "stderr"):
        try:
            os.fstat(getattr(sys, name).fileno())
        except (AttributeError, io.UnsupportedOperation):  # none, or a stream of Python's
            pass
        except (OSError, ValueError):
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (as long as the process)


class Worker:
    """One thread that runs jobs one after another."""

    def __init__(self):
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None

    @staticmethod
    def _serve(jobs):
        while True:
            job = jobs.get()
            if job is None:
                return
            try:
                job.run()
            except Overdue:  # raised just after the overdue job had returned
                job.result = None
            job.end()

    def is_alive(self):
        return self.thread is not None and self.thread.is_alive()

    def start(self, function):
        job = Job(function)
        if not self.is_alive():
            self.thread = threading.Thread(target=self._serve, args=(self.jobs,), daemon=True)
            self.thread.start()
        self._raise_in_thread(ctypes.py_object())  # clears a pending exception that was meant for an earlier job
        self.jobs.put(job)
        return job

    def cancel(self, job):
        """Prevents a job from starting; if it runs, raises Overdue in its thread at its next Python instruction."""
        job.is_cancelled = True
        if job.is_running:  # not while the thread fetches a job, which would be lost
            self._raise_in_thread(ctypes.py_object(Overdue))

    def _raise_in_thread(self, exception):
        if self.thread is not None and self.thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread.ident), exception)


class Record(dict):
    """A dict whose entries can also be read as attributes, like Kaggle's observations."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def read_field(record, name, default):
    """An entry of an observation or a configuration, read as an item or else as an attribute."""
    try:
        return record[name]
    except (TypeError, KeyError):
        return getattr(record, name, default)


def makes_line(board, column, mark, rows, columns, inarow):
    """Whether a stone of ``mark`` in ``column``, which is not full, makes a line. The board is Kaggle's, row by row."""
    row = max(r for r in range(rows) if board[column + r * columns] == 0)
    for row_step, column_step in ((1, 0), (0, 1), (1, 1), (1, -1)):
        length = 1
        for sign in (1, -1):
            r, c = row + sign * row_step, column + sign * column_step
            while 0 <= r < rows and 0 <= c < columns and board[c + r * columns] == mark:
                length, r, c = length + 1, r + sign * row_step, c + sign * column_step
        if length >= inarow:
            return True
    return False


def fallback_column(board, mark, rows, columns, inarow):
    """The reply in place of the agent's: a win in one, else a block, else the most central legal column."""
    legal = sorted((c for c in range(columns) if board[c] == 0), key=lambda c: abs(2 * c + 1 - columns))
    for player in (mark, 3 - mark):
        for column in legal:
            if makes_line(board, column, player, rows, columns, inarow):
                return column
    return legal[0]


def legal_column(reply, board, columns, name="agent"):
    """The reply of the function ``name`` as an int.

    Raises:
        ValueError: it is not an integer of some type, or not a column that is open.
    """
    try:
        column = None if isinstance(reply, bool) else operator.index(reply)
    except TypeError:
        column = None
    if column is not None and 0 <= column < columns and board[column] == 0:
        return column
    if column is not None:
        what = f"full: board[{column}] is {board[column]}" if 0 <= column < columns else "not on the board"
        raise ValueError(f"{name} returned column {column}, which is {what}")
    who = "the agent" if "agent" in name.lower() else f"the file defines no agent: {name}, which was taken for it,"
    why = f"of type {type(reply).__name__}, where Kaggle wants an int"
    if reply is None:
        why = "and so does not return a column on every way through it"
    elif callable(reply):
        why = "not a column: is it the function that makes the agent?"
    raise ValueError(f"{who} returned {reply!r:.80}, {why}")


def argument_count(function):
    """How many of (obs, config) a callable takes."""
    try:
        # Kaggle looks at a decorator's function itself, not at what that wraps.
        parameters = inspect.signature(function, follow_wrapped=not inspect.isfunction(function)).parameters.values()
    except Exception:  # it tells nothing, or its own __getattr__ raises
        return 2
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return 2
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def describe_fault(fault, prefix):
    """A fault on one line, with the innermost place in the agent's own modules."""
    frames = [f for f in traceback.extract_tb(fault.__traceback__) if f.filename.startswith(prefix)]
    place = f" ({frames[-1].filename[len(prefix) + 1 :]}, line {frames[-1].lineno})" if frames else ""
    text = ANSI.sub("", f"{type(fault).__name__}: {fault}")
    return textwrap.shorten(text, DESCRIBED, placeholder=" ...") + place


def dismantle(modules, jobs):
    """Ends the agent's thread and removes its modules; called when nothing refers to the agent any more."""
    jobs.put(None)
    modules.remove()


class Submission:
    """The agent ``entry`` = (module, name of its function) of the embedded ``modules``, behind the guard.

    ``started_at`` is the time.perf_counter() of the file's first line: the load is part of the first move.
    """

    def __init__(self, modules, entry, started_at):
        self._prefix, self._name = modules.prefix, entry[1]
        self._started_at = started_at
        self._charged = False
        self._worker = Worker()
        self._move = None
        sys.meta_path.append(modules)
        weakref.finalize(self, dismantle, modules, self._worker.jobs).atexit = False
        has_clock = "connectx_core/clock.py" in modules.sources
        self._load = self._worker.start(lambda: load_agent(modules, entry, started_at, has_clock))
        if self._load.has_ended(time.perf_counter() + LOAD_WAIT) and self._load.fault is not None:
            self._report(f"the agent did not load: {describe_fault(self._load.fault, self._prefix)}")

    def answer(self, obs, config):
        """The agent's reply if it is a legal column and in time, else the fallback's. Always an int."""
        collects = gc.isenabled()
        gc.disable()  # a collection in the middle of a move would be an unexpected pause
        try:
            return self._legal_reply(obs, config)
        finally:
            if collects:
                gc.enable()

    def _legal_reply(self, obs, config):
        deadline = self._deadline(obs, config)
        board = list(read_field(obs, "board", ()))  # a copy, because the agent may change the observation
        columns = read_field(config, "columns", 7)
        try:
            return legal_column(self._reply(obs, config, deadline), board, columns, self._name)
        except Exception as fault:
            rows, inarow = read_field(config, "rows", 6), read_field(config, "inarow", 4)
            column = fallback_column(board, read_field(obs, "mark", 1), rows, columns, inarow)
            self._report(f"played column {column} instead: {describe_fault(fault, self._prefix)}")
            return column

    def _deadline(self, obs, config):
        """When the reply is due, as a time.perf_counter() value; None if a node budget replaces the clock."""
        now, used = time.perf_counter(), 0.0
        if not self._charged:
            self._charged = True
            used = (self._load.ended_at or now) - self._started_at
        if read_field(config, "nodeBudget", None) is not None:
            return None
        seconds = float(read_field(config, "actTimeout", 2))
        overage = float(read_field(obs, "remainingOverageTime", 0) or 0)
        return now - used + seconds + overage - min(MARGIN, MARGIN_SHARE * seconds)

    def _reply(self, obs, config, deadline):
        if not self._load.has_ended(deadline):
            raise TimeoutError("the agent is still loading")
        if self._load.fault is not None:
            raise RuntimeError(f"not loaded: {describe_fault(self._load.fault, self._prefix)}")
        if self._move is not None and self._worker.is_alive() and not self._move.has_ended(deadline):
            raise TimeoutError("the agent is still at an earlier move")
        function, count = self._load.result
        arguments = [Record(given) if type(given) is dict else given for given in (obs, config)][:count]
        self._move = self._worker.start(lambda: function(*arguments))
        if not self._move.has_ended(deadline):
            self._worker.cancel(self._move)
            raise TimeoutError("the agent did not answer in time")
        if isinstance(self._move.fault, Exception):
            raise self._move.fault
        if self._move.fault is not None:  # the caller must not see a SystemExit or KeyboardInterrupt
            raise RuntimeError(f"{type(self._move.fault).__name__}: {self._move.fault}")
        return self._move.result

    @staticmethod
    def _report(line):
        with contextlib.suppress(Exception):  # stderr may be closed
            print(f"submission guard: {line}", file=sys.stderr)


def load_agent(modules, entry, started_at, has_clock):
    """Imports the entry module; returns its agent and the number of arguments that it takes."""
    (module, name), prefix = entry, modules.prefix
    try:
        function = getattr(importlib.import_module(f"{prefix}.{module}"), name)
    finally:
        modules.drop_aliases()
    if not callable(function):
        raise TypeError(f"{name} of {module} is not callable")
    if has_clock:
        importlib.import_module(prefix + ".connectx_core.clock").charge(time.perf_counter() - started_at)
    return function, argument_count(function)
