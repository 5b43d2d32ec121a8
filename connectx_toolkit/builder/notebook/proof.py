"""Does the file that was written of a running function play as the function does?

The function is asked in a fork of this process, so that nothing of the notebook changes (where there is no fork, it is
asked here); the file in a process that has none of the notebook's values and environment variables. Where moves are
drawn, by generators that the file may not share, their frequencies are compared instead.
"""

import io
import json
import os
import re
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from math import sqrt
from typing import Any

from connectx.position import STANDARD
from connectx_toolkit.builder.notebook.live import namespace_of
from connectx_toolkit.builder.notebook.written import Written
from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.builder.preflight.stage import Question, Stage, sample
from connectx_toolkit.kaggle import runner
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.system.posix import HAS_FORK, signal_name

TOPIC = "notebook"
POSITIONS = 60
SECONDS = 40.0  # that the function may take for all questions; after it no further one is asked
DRAWN, DRAWS, LEAST_DRAWS = 8, 100, 10  # positions in which moves are drawn again, and how often in each
VARIABLES = ". It reads os.environ, and Kaggle has none of this notebook's variables: write the value into a cell"
SIGMAS = 4.0  # at most one in 10,000 faithful files of an agent that draws is refused


class Ended(Exception):
    """The function was not asked to the end, and not for want of time; the text says why."""


class Proof:
    """What ``connectx_toolkit.builder.build.build`` asks before it compares the built file with its source.

    Args:
        function: the agent as it lives here.
        written: its files.
    """

    def __init__(self, function: Callable, written: Written):
        self.function, self.written = function, written

    def __call__(self, stage: Stage, source: dict[str, Any], report: Report) -> None:
        """Compares the function with its source, and reports that.

        Args:
            source: what the stage needs to load the source.
        """
        try:
            self._compare(stage, source, report)
        except Ended as why:
            report.add(TOPIC, "reject", f"{self.written.who} itself {why}")

    def _compare(self, stage: Stage, source: dict[str, Any], report: Report) -> None:
        questions, who = sample(POSITIONS, geometries=(STANDARD,)), self.written.who
        here, there = self._both(stage, source, questions)
        if why := _failure(there):
            return report.add(TOPIC, "reject", f"{who} was written to a file that does not play: {why}")
        if not here:
            return report.add(TOPIC, "reject", f"{who} itself gives no answer here within {SECONDS:g} s")
        pairs = list(zip(here, there["result"]["replies"], strict=False))
        differ = [n for n, (a, b) in enumerate(pairs) if (a["column"], a["type"]) != (b["column"], b["type"])]
        if not differ:
            text = f"{who} here and its file, in a process of its own, agree on {len(pairs)} positions"
            return report.add(TOPIC, "pass", text)
        slowest = max(reply["seconds"] for pair in pairs for reply in pair)
        counts, draws = self._drawn(stage, source, [questions[number] for number in differ], slowest)
        if excess_of(counts) <= SIGMAS:
            most = max(map(_difference, counts))
            text = f"{who} draws its moves: here and in its file each column comes as often, within {most:.0%}, "
            return report.add(TOPIC, "pass", f"{text}in {len(counts)} positions of {draws} draws")
        (a, b), step = pairs[differ[0]], questions[differ[0]].obs["step"]
        text = f"{who} here and its file play otherwise in {len(differ)} of {len(pairs)} positions, first after {step} "
        text += f"plies: {_said(a)} here, {_said(b)} there"
        reads_variables = re.search("environ|getenv", self.written.agent.read_text(encoding="utf-8"))
        return report.add(TOPIC, "reject", text + (VARIABLES if reads_variables else ""))

    def _both(
        self, stage: Stage, source: dict[str, Any], questions: list[Question]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The replies of the function, and what the stage says of its file, asked as many questions."""
        here = replies(self.function, self.written.restarts, [question.as_json() for question in questions])
        options = {name: value for name, value in source.items() if name not in ("stop_after", "enough")}
        return here, stage.replies(self.written.agent, "source", questions[: max(1, len(here))], **options)

    def _drawn(
        self, stage: Stage, source: dict[str, Any], questions: list[Question], seconds: float
    ) -> tuple[list[list[Counter[str]]], int]:
        """How often each column is chosen on both sides, for each question, and in how many draws of other seeds.

        Args:
            seconds: that a move may take.
        """
        asks = SECONDS / max(seconds, 1e-6)
        draws = int(min(DRAWS, max(LEAST_DRAWS, asks / DRAWN)))
        chosen = questions[: int(max(1, min(DRAWN, asks / draws)))]
        asked = [each._replace(config=each.config | {"draw": draw}) for each in chosen for draw in range(draws)]
        here, there = self._both(stage, source, asked)
        theirs = there["result"]["replies"] if not _failure(there) else []
        starts = range(0, min(len(here), len(theirs)) // draws * draws, draws)
        texts = [[reply["text"] for reply in side] for side in (here, theirs)]
        return [[Counter(side[start : start + draws]) for side in texts] for start in starts], draws


class Repeats:
    """What ``build`` asks first of a page's agent: is it the same however often it is loaded?

    Other seeds at the load, the same for each question: only what is drawn or trained as the cells run can differ.
    """

    def __init__(self, written: Written):
        self.written = written

    def __call__(self, stage: Stage, source: dict[str, Any], report: Report) -> None:
        questions = sample(POSITIONS, geometries=(STANDARD,))
        sides = [stage.replies(self.written.agent, "source", questions, **source, load_seed=n) for n in (0, 1)]
        if why := next(filter(None, map(_failure, sides)), ""):
            return report.add(TOPIC, "reject", f"{self.written.entry}: {why}")
        pairs = zip(*(side["result"]["replies"] for side in sides), strict=False)
        same = [(a["column"], a["type"]) == (b["column"], b["type"]) for a, b in pairs]
        if all(same):
            return report.add(TOPIC, "pass", f"{self.written.entry} is the same when its cells run again")
        text = f"{self.written.entry} plays otherwise in {same.count(False)} of {len(same)} positions when its cells run"
        text += " again: they draw a value at random, or train it, and only the running notebook has it. Run "
        report.add(TOPIC, "reject", f"{text}build({self.written.entry}) there, or save the value to a file")


def replies(function: Callable, restarts: tuple[str, ...], questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a function replies, in the form of ``runner.ask``, to as many questions as the time allows.

    Args:
        restarts: statements that are run before, in the function's module.

    Raises:
        Ended: the function ended its process, or something but an exception of a move was raised.
    """
    if not HAS_FORK:
        names = namespace_of(function)
        before = dict(names)
        try:
            return list(_asked(function, restarts, questions))
        finally:
            names.update(before)  # what was bound anew; what was changed in place stays so
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ours)
            _hush()
            with os.fdopen(theirs, "w", buffering=1) as pipe:
                try:
                    for reply in _asked(function, restarts, questions):
                        print(json.dumps(reply), file=pipe)
                    print("null", file=pipe)
                except BaseException as problem:  # also SystemExit, which no move may raise
                    print(json.dumps(f"raises {type(problem).__name__}: {problem}"), file=pipe)
        finally:
            os._exit(0)
    os.close(theirs)
    started = time.monotonic()
    try:
        found = [json.loads(line) for line in _lines(ours)]
        is_late = time.monotonic() - started >= 2 * SECONDS
    finally:
        code = _code_of(pid)
    if not is_late and (not found or isinstance(found[-1], dict)):
        raise Ended(f"was killed by {signal_name(-code)}" if code < 0 else f"ended its process (exit code {code})")
    if found and isinstance(found[-1], str):
        raise Ended(found[-1])
    return [reply for reply in found if reply is not None]


def _code_of(pid: int) -> int:
    """The exit code of a process that has ended or is about to; one that goes on is killed."""
    ends = time.monotonic() + 1.0
    while not (found := os.waitpid(pid, os.WNOHANG))[0] and time.monotonic() < ends:
        time.sleep(0.002)
    if not found[0]:
        os.kill(pid, signal.SIGKILL)
        found = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(found[1])


def _lines(pipe: int) -> list[bytes]:
    """The whole lines that come from a process until it ends or the time is over."""
    content, ends = b"", time.monotonic() + 2 * SECONDS
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while (left := ends - time.monotonic()) > 0 and select.select([file], [], [], left)[0]:
            if not (chunk := file.read(1 << 16)):
                break
            content += chunk
    return content.split(b"\n")[:-1]


def _hush() -> None:
    """Lets nothing out of a fork, in which a process's threads are not."""
    for number in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    sys.stdout = sys.stderr = io.StringIO()
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # its pool of threads was not forked


def _asked(function: Callable, restarts: tuple[str, ...], questions: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    started, count = time.monotonic(), runner.positional(function)
    for statement in restarts:
        exec(statement, namespace_of(function))

    def agent(obs: Any, config: Any) -> Any:
        return function(*(obs, config)[:count])

    for question in questions:
        yield runner.ask(agent, question, "", lambda entries: Struct(**entries))
        if time.monotonic() - started > SECONDS:
            return


def excess_of(counts: list[list[Counter[str]]]) -> float:
    """By how many standard deviations two sides' choices differ more than those of one side would.

    The statistic is Pearson's chi-square for each position (columns by sides), summed; of so many degrees of freedom
    it has that mean, and twice that variance. Without any position it is infinite.
    """
    total, freedom = 0.0, 0
    for sides in counts:
        sizes = [sum(side.values()) for side in sides]
        columns = set().union(*sides)
        if not all(sizes):
            return float("inf")
        for column in columns:
            both = sum(side[column] for side in sides)
            for side, size in zip(sides, sizes, strict=True):
                expected = both * size / sum(sizes)
                total += (side[column] - expected) ** 2 / expected
        freedom += max(1, len(columns) - 1)
    return (total - freedom) / sqrt(2 * freedom) if freedom else float("inf")


def _difference(sides: list[Counter[str]]) -> float:
    """The largest difference of a column's share."""
    sizes = [max(1, sum(side.values())) for side in sides]
    return max(abs(sides[0][column] / sizes[0] - sides[1][column] / sizes[1]) for column in set().union(*sides))


def _said(reply: dict[str, Any]) -> str:
    return f"{reply['text']:.100}" if reply["type"] != "exception" else f"raises {reply['text']:.100}"


def _failure(answer: dict[str, Any]) -> str:
    """Why a file was not asked, "" if it was."""
    if answer["ended"] != "ok":
        return f"{answer['ended']} ({answer['stage']})"
    result = answer["result"]
    return f"{result['raised']}: {result['text']}" if "raised" in result else ""
