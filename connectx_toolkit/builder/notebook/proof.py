"""Does the file that was written of a running function play as the function does?

The function is asked in a fork of this process, so that nothing of the notebook changes (where there is no fork, it is
asked here); the file in a process that has none of the notebook's values and environment variables. Where moves are
drawn, by generators that the file may not share, their frequencies are compared instead.
"""

import contextlib
import io
import json
import os
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from math import sqrt
from typing import Any

from connectx.position import STANDARD
from connectx_toolkit.builder.notebook.live import namespace_of
from connectx_toolkit.builder.notebook.written import Written
from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.builder.preflight.stage import Question, Stage, sample
from connectx_toolkit.kaggle import runner
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.system.posix import HAS_FORK

TOPIC = "notebook"
POSITIONS = 60
SECONDS = 40.0  # that the function may take for all questions; after it no further one is asked
DRAWN, DRAWS, LEAST_DRAWS = 8, 100, 10  # positions in which moves are drawn again, and how often in each
SIGMAS = 4.0  # at most one in 10,000 faithful files of an agent that draws is refused


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
        questions = sample(POSITIONS, geometries=(STANDARD,))
        here, there = self._both(stage, source, questions)
        if why := _failure(there):
            return report.add(TOPIC, "reject", f"{self._name} was written to a file that does not play: {why}")
        if not here:
            return report.add(TOPIC, "reject", f"{self._name} itself gives no answer here within {SECONDS:g} s")
        theirs = there["result"]["replies"]
        pairs = list(zip(here, theirs, strict=False))
        differ = [n for n, (a, b) in enumerate(pairs) if (a["column"], a["type"]) != (b["column"], b["type"])]
        if not differ:
            text = f"{self._name} here and its file, in a process of its own, agree on {len(pairs)} positions"
            return report.add(TOPIC, "pass", text)
        return self._draw(stage, source, questions, differ, pairs, report)

    @property
    def _name(self) -> str:
        return self.written.who

    def _both(
        self, stage: Stage, source: dict[str, Any], questions: list[Question]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The replies of the function, and what the stage says of its file, asked as many questions."""
        here = replies(self.function, self.written.restarts, [question.as_json() for question in questions])
        options = {name: value for name, value in source.items() if name not in ("stop_after", "enough")}
        asked = questions[: max(1, len(here))]
        return here, stage.replies(self.written.agent, "source", asked, **options)

    def _draw(
        self,
        stage: Stage,
        source: dict[str, Any],
        questions: list[Question],
        differ: list[int],
        pairs: list[tuple[dict[str, Any], dict[str, Any]]],
        report: Report,
    ) -> None:
        """Compares how often each column is chosen, each time with other seeds, in positions where moves differ."""
        slowest = max(max(a["seconds"], b["seconds"]) for a, b in pairs)
        asks = SECONDS / max(slowest, 1e-6)
        draws = int(min(DRAWS, max(LEAST_DRAWS, asks / DRAWN)))
        chosen = [questions[number] for number in differ[: int(max(1, min(DRAWN, asks / draws)))]]
        asked = [_Seeded(*question, seed=draw) for question in chosen for draw in range(draws)]
        here, there = self._both(stage, source, asked)  # type: ignore[arg-type]
        theirs = there["result"]["replies"] if not _failure(there) else []
        counts = [
            [Counter(reply["text"] for reply in side[n * draws : (n + 1) * draws]) for side in (here, theirs)]
            for n in range(min(len(here), len(theirs)) // draws)
        ]
        excess, most = excess_of(counts), max(map(_difference, counts), default=1.0)
        first, (a, b) = questions[differ[0]], pairs[differ[0]]
        if excess <= SIGMAS:
            text = f"{self._name} draws its moves: here and in its file each column comes as often, within {most:.0%}, "
            return report.add(TOPIC, "pass", f"{text}in {len(counts)} positions of {draws} draws")
        text = f"{self._name} here and its file play otherwise in {len(differ)} of {len(pairs)} positions, first after "
        text += f"{first.obs['step']} plies: {_said(a)} here, {_said(b)} there"
        return report.add(TOPIC, "reject", f"{text}{self._hint(there)}")

    def _hint(self, there: dict[str, Any]) -> str:
        text = self.written.agent.read_text(encoding="utf-8")
        if "environ" in text or "getenv" in text:
            return (
                ". It reads os.environ, and Kaggle has none of this notebook's variables: write the value into a cell"
            )
        return ""


class _Seeded:
    """A question with a seed of its own."""

    def __init__(self, *question: Any, seed: int):
        self.name, self._question, self._seed = str(question[0]), Question(*question), seed

    def as_json(self) -> dict[str, Any]:
        return self._question.as_json() | {"seed": self._seed}


def replies(function: Callable, restarts: tuple[str, ...], questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a function replies, in the form of ``runner.ask``, to as many questions as the time allows.

    Args:
        restarts: statements that are run before, in the function's module.
    """
    if not HAS_FORK:
        names = namespace_of(function)
        before = dict(names)
        try:
            return _asked(function, restarts, questions, lambda reply: None)
        finally:
            names.update(before)  # what was bound anew; what was changed in place stays so
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ours)
            with os.fdopen(theirs, "w", buffering=1) as pipe:
                _quietly(
                    lambda: _asked(function, restarts, questions, lambda reply: print(json.dumps(reply), file=pipe))
                )
        finally:
            os._exit(0)
    os.close(theirs)
    try:
        return [json.loads(line) for line in _lines(ours)]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _lines(pipe: int) -> list[bytes]:
    """The whole lines that come from a process until it ends or the time is over."""
    content, ends = b"", time.monotonic() + 2 * SECONDS
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while (left := ends - time.monotonic()) > 0 and select.select([file], [], [], left)[0]:
            if not (chunk := file.read(1 << 16)):
                break
            content += chunk
    return content.split(b"\n")[:-1]


def _quietly(work: Callable[[], Any]) -> None:
    """Works in a fork of a process with threads of its own, which are not here."""
    for number in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    sys.stdout = sys.stderr = io.StringIO()
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # its pool of threads was not forked
    work()


def _asked(
    function: Callable, restarts: tuple[str, ...], questions: list[dict[str, Any]], tell: Callable[[dict], None]
) -> list[dict[str, Any]]:
    names, found, started = namespace_of(function), list[dict[str, Any]](), time.monotonic()
    for statement in restarts:
        exec(statement, names)
    count = runner.positional(function)

    def agent(obs: Any, config: Any) -> Any:
        return function(*(obs, config)[:count])

    for question in questions:
        found.append(runner.ask(agent, question, "", lambda entries: Struct(**entries)))
        tell(found[-1])
        if time.monotonic() - started > SECONDS:
            break
    return found


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
