"""Processes for the jobs of ``connectx_toolkit.kaggle.runner``: they report their steps, and are killed beyond limits.

A job's process is a fork of the runner, or where there is no fork a new interpreter.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from queue import Empty, SimpleQueue

from connectx_toolkit.system.cores import waiting
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.system.posix import HAS_FORK, end, pause, resume

TAIL = 4000  # characters kept of the output of a job that Kaggle's own capture misses
POLL = 0.05  # seconds between checks of a job's memory
NEWS = 4.0  # seconds between two messages that a job is still running
SLOWER = "a slower processor"
DUTY_PERIOD = 0.03  # seconds of one stop-and-go cycle
# The process removes its own modules from sys.modules: the code under test must not find any of this project.
START = (
    "import sys; sys.path[:0] = {paths}; from connectx_toolkit.kaggle.runner import {call}; del sys.path[0]; "
    "ours = [name for name in sys.modules if name.split('.')[0] in ('connectx_core', 'connectx_toolkit')]; "
    "[sys.modules.pop(name) for name in ours]; {call}({arguments})"
)


def interpreter_command(call, paths, *arguments):
    """The command of a new interpreter that calls one of this module's functions, with ``paths`` on ``sys.path``."""
    text = START.format(call=call, paths=[str(ROOT), *paths], arguments=", ".join(map(repr, arguments)))
    return [sys.executable, "-sPBc", text]


def resident_memory(pid):
    """Resident memory of a process, in bytes; 0 where the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError, ValueError):
        return 0


def duty_cycle(process, share, elapsed):
    """Stops or continues a process so that it runs ``share`` of each period; returns seconds to the next switch."""
    phase = elapsed % DUTY_PERIOD
    running = phase < share * DUTY_PERIOD
    (resume if running else pause)(process)
    return (share * DUTY_PERIOD if running else DUTY_PERIOD) - phase


class Progress:
    """What a job has reported so far: its step, its processes, its parts, its result."""

    def __init__(self, pid):
        self.pids, self.step, self.parts, self.result = [pid], "start", [], None
        self._rest = b""

    def read(self, chunk):
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            mark, content = line[:1], line[1:]
            if mark == b"+":
                self.parts.append(json.loads(content))
            elif mark == b"=":
                self.result = json.loads(content)
            elif line.startswith(b"pid "):
                self.pids.append(int(line[4:]))
            else:
                self.step = line.decode()


def broken_limit(job, step, seconds, waited, peak):
    """The limit that a job exceeds after ``seconds`` in a step: "timeout" or "memory"; "ok" if none.

    ``waited``: tells how many of these seconds it waited for a processor, which is no accident if it is restricted.
    """
    limit = job.get("limits", {}).get(step, job["limit"])
    if seconds > limit and ("duty" in job or seconds - waited() > limit):
        return "timeout"
    return "memory" if peak > job["memory"] else "ok"


class ForkedProcess:
    """A process as a fork of this one, which may lead a group of its own.

    Args:
        call: called in the fork with the descriptors for what it is sent, its answers and its output.
    """

    def __init__(self, call):
        (asked, self._asked), (self._answers, answers), (self._output, output) = os.pipe(), os.pipe(), os.pipe()
        ours, theirs = (self._asked, self._answers, self._output), (asked, answers, output)
        self._open, self._ended = [self._answers, self._output], None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                for file in ours:
                    os.close(file)
                call(*theirs)
            finally:
                os._exit(1)  # whatever happens, this process never goes on as a second parent
        for file in theirs:
            os.close(file)

    def send(self, line):
        with contextlib.suppress(OSError):  # it has ended
            os.write(self._asked, line)

    def read(self, seconds):
        """(whether it is an answer and not output, the bytes) of each stream that has some, b"" of one that ended."""
        for file in select.select(self._open, [], [], seconds)[0]:
            chunk = os.read(file, 1 << 16)
            if not chunk:
                self._open.remove(file)
            yield file == self._answers, chunk

    def wait(self):
        """Its exit code, and its largest memory in bytes, once it has ended."""
        if self._ended is None:
            _, status, usage = os.wait4(self.pid, 0)
            peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
            self._ended = os.waitstatus_to_exitcode(status), peak
        return self._ended

    def end(self):
        """Kills it and its group; what ``wait`` tells."""
        if self._ended is None:
            end(self)
        for file in (self._asked, self._answers, self._output):
            os.close(file)
        return self.wait()


class SpawnedProcess:
    """A process as a new interpreter, with the interface of ``ForkedProcess``; it is sent a job first."""

    def __init__(self, job):
        command, pipe = interpreter_command("run_alone", sys.path), subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self.pid = self._process.pid
        self._chunks: SimpleQueue[tuple[bool, bytes]] = SimpleQueue()
        for stream in (self._process.stdout, self._process.stderr):  # only threads can wait for several pipes there
            threading.Thread(target=self._pass_on, args=(stream,), daemon=True).start()
        self.send(json.dumps(job).encode() + b"\n")

    def send(self, line):
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _pass_on(self, stream):
        chunk = b" "
        while chunk:
            with contextlib.suppress(OSError, ValueError):  # it has been closed
                chunk = os.read(stream.fileno(), 1 << 16)
            self._chunks.put((stream is self._process.stdout, chunk))

    def read(self, seconds):
        with contextlib.suppress(Empty):
            yield self._chunks.get(timeout=max(seconds, 1e-3))

    def wait(self):
        return self._process.wait(), 0

    def end(self):
        self._process.kill()
        return self.wait()


def supervise_job(process, job, news):
    """Waits for a job's process, reads its output, and kills it when it exceeds a limit.

    ``job["limit"]`` is in seconds since the last sign of progress (the load, each question, each move), without those
    that it waited for a processor; stages in ``job["limits"]`` have their own. ``job["duty"]`` is the share of the time
    that the process may run. ``news`` is called every few seconds with the step and the seconds of the job.
    """
    started = last = looked = reported = noted = time.perf_counter()
    peak, ended, left, tail, waited = 0, "ok", POLL, b"", waiting(str(process.pid))
    progress, is_open = Progress(process.pid), True
    while is_open and progress.result is None:
        now = time.perf_counter()
        if job.get("duty"):
            left = duty_cycle(process, job["duty"], now - started)
        if now - looked >= POLL:
            looked, peak = now, max(peak, *map(resident_memory, progress.pids))
        if now - reported >= NEWS:
            reported = now
            news(progress.step, now - started)
        ended = broken_limit(job, progress.step, now - last, waited, peak)
        if ended != "ok":
            break
        for is_answer, chunk in process.read(left):
            if not is_answer:
                tail = (tail + chunk)[-TAIL:]
            elif chunk:
                progress.read(chunk)
                last = now
                if now - noted >= POLL:  # not at each of a thousand questions
                    noted, waited = now, waiting(str(process.pid))
            else:
                is_open = False
    code, most = process.end()
    if ended == "ok" and progress.result is None:
        ended = f"ended itself with exit code {code}"
    return {
        "ended": ended,
        "seconds": time.perf_counter() - started,
        "peak": max(peak, most),
        "tail": tail.decode(errors="replace"),
        "step": progress.step,
        "parts": progress.parts,
        "result": progress.result,
    }


def missing_limits():
    """What cannot be imitated here of a job's limits, each in a few words."""
    lacking = [] if resident_memory(os.getpid()) else ["a limit on memory"]
    return lacking if HAS_FORK else [*lacking, SLOWER, "the end of all that a file starts"]
