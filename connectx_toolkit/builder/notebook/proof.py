"""Does the file that was written of a notebook play as the notebook does?

A running function is asked in a fork of this process, so that nothing of the notebook changes (where there is no fork,
it is asked here). Of a page, its own cells run in a process of their own, and the file is loaded twice with other
seeds, so that what is drawn or trained differs. Where moves are drawn, by generators that the other side may not
share, their frequencies are compared instead.
"""

import contextlib
import io
import json
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from connectx.position import STANDARD
from connectx_toolkit.builder.comparison import drawn
from connectx_toolkit.builder.notebook.carrying import Values, qualified_name
from connectx_toolkit.builder.notebook.live import namespace_of
from connectx_toolkit.builder.notebook.written import Written
from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.builder.preflight.stage import Question, Runner, Stage, openings_of_games, sample
from connectx_toolkit.builder.preflight.stage import stage as new_stage
from connectx_toolkit.kaggle import runner
from connectx_toolkit.kaggle.agent_file import Struct
from connectx_toolkit.system.posix import HAS_FORK, signal_name

TOPIC = "notebook"
POSITIONS = 60
SECONDS = 40.0  # that the function may take for all questions; after it no further one is asked
CELLS_SECONDS = 120.0  # that a page's cells may run
VARIABLES = ". It reads os.environ, and Kaggle has none of this notebook's variables: write the value into a cell"
ELSEWHERE = "The file has no caches, and no changes that cells made to modules, such as np.argmax: let {} make them. "
ELSEWHERE += "Or restart the kernel, run all cells, and build again"


class Answer(NamedTuple):
    """What one side of a comparison replies, in the form of ``runner.ask``.

    replies: to as many questions as the time allows.
    why: why there are none; "" if there are.
    changed: of a running function, the labels of ``Written.state`` that its play changed.
    """

    replies: list[dict[str, Any]]
    why: str = ""
    changed: Sequence[str] = ()


Side = Callable[[list[Question]], Answer]


class Difference(NamedTuple):
    """How two sides differ: in ``moves`` of ``of`` positions, and the first; ``drawn``: how far both draw alike."""

    moves: int
    of: int
    first: str = ""
    drawn: str = ""

    def __bool__(self) -> bool:
        return self.moves > 0 and not self.drawn


class Proof:
    """What ``connectx_toolkit.builder.build.build`` asks of a running function before it compares the built file.

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
        questions, who, agent = asked_of_both(), self.written.who, self.written.agent

        def here(questions: list[Question]) -> Answer:
            return asked_here(self.function, self.written.state, questions)

        there, ours = side_of(stage, agent, source), here(questions)
        theirs = there(questions[: max(1, len(ours.replies))])
        if theirs.why:
            return report.add(TOPIC, "reject", f"{who} was written to a file that does not play: {theirs.why}")
        if why := ours.why or raised_by(ours):
            return report.add(TOPIC, "reject", f"{who} itself {why}")
        names = namespace_of(self.function)
        for label in ours.changed:
            is_new = label.isidentifier() and label not in names
            begins = "without it" if is_new else "with its current value"
            text = f"{who} modifies {label}. Each game of the built file starts {begins}"
            report.add(TOPIC, "note", text)
        found = difference(questions, (here, ours), (there, theirs))
        if found:
            text = f"{who} here and its file play otherwise in {found.moves} of {found.of} positions, {found.first}"
            reads_variables = re.search("environ|getenv", agent.read_text(encoding="utf-8"))
            text += VARIABLES if reads_variables else ""
            return report.add(TOPIC, "reject", ". ".join([text, *self.written.notes[:6], ELSEWHERE.format(who)]))
        if found.drawn:
            return report.add(TOPIC, "pass", f"{who} draws its moves: here and in its file {found.drawn}")
        text = f"{who} here and its file, in a process of its own, agree on {found.of} positions"
        return report.add(TOPIC, "pass", text)


class PageProof:
    """What ``build`` asks of a page's agent: does its file play as the page's own cells do, however often it is loaded?

    Other seeds at each load, also of the order of sets of texts, and the same for each question: only what is drawn or
    trained as the cells run can differ.
    """

    def __init__(self, written: Written):
        self.written = written

    def __call__(self, stage: Stage, source: dict[str, Any], report: Report) -> None:
        questions, entry, agent = asked_of_both(), self.written.entry, self.written.agent
        first = side_of(stage, agent, source, load_seed=0)
        ours = first(questions)
        with Runner(hash_seed=1) as runner, new_stage(stage.limits, runner, stage.name) as other:
            second = side_of(other, agent, source, load_seed=1)
            again = second(questions)
            if why := ours.why or again.why or raised_by(ours):
                return report.add(TOPIC, "reject", f"{entry}: {why}")
            found = difference(questions, (first, ours), (second, again))
        if found:
            text = f"{entry} plays otherwise in {found.moves} of {found.of} positions when its cells run again: they "
            text += "draw a value at random, train it, or take the order of a set of texts"
            return report.add(
                TOPIC, "reject", f"{text}. Run build({entry}) in the notebook, or save the value to a file"
            )
        page = self.written.page
        if page is None:
            return report.add(TOPIC, "pass", f"{entry} is the same however often its file is loaded")
        cells = side_of(stage, page, source | {"function": "AGENT"}, load_seed=2, limit=CELLS_SECONDS)
        theirs, faults = cells(questions[: len(ours.replies)]), page.with_suffix(".json")
        failed = json.loads(faults.read_text(encoding="utf-8")) if faults.exists() else []
        beside = f" ({'; '.join(failed[:3])}{'; and others' * (len(failed) > 3)})" if failed else ""
        if theirs.why:
            text = f"{entry} is the same however often its file is loaded. It could not be compared with the page's "
            return report.add(TOPIC, "note", f"{text}own cells: they gave no agent here: {theirs.why}{beside}")
        found = difference(questions, (cells, theirs), (first, ours))
        if found:
            text = f"{entry} of the page's cells and its file play otherwise in {found.moves} of {found.of} positions, "
            left = f" Left out: {'; '.join(self.written.left_out[:6])}." if self.written.left_out else ""
            cure = f"Run build({entry}) in the notebook, which carries its values"
            return report.add(TOPIC, "reject", f"{text}{found.first}{beside}.{left} {cure}")
        agree = f"play alike: {found.drawn}" if found.drawn else f"agree on {found.of} positions"
        text = f"{entry} of the page's own cells, run here, and its file, loaded twice with other seeds, {agree}"
        report.add(TOPIC, "pass", f"{text}{'. Some cells failed here' if failed else ''}{beside}")


def asked_of_both() -> list[Question]:
    return openings_of_games(range(2)) + sample(POSITIONS, geometries=(STANDARD,)) + openings_of_games(range(2, 4))


def raised_by(answer: Answer) -> str:
    """That it raises in every position; "" if it plays."""
    is_raised = all(reply["type"] == "exception" for reply in answer.replies)
    return _said(answer.replies[0]) if answer.replies and is_raised else ""


def side_of(stage: Stage, file: Path, source: Mapping[str, Any], **options: Any) -> Side:
    """A file as the author's own source, loaded in a process of its own; all questions are asked."""
    job = {name: value for name, value in source.items() if name not in ("stop_after", "enough")} | options

    def asked(questions: list[Question]) -> Answer:
        answer = stage.replies(file, "source", questions, **job)
        if answer["ended"] != "ok":
            return Answer([], f"{answer['ended']} ({answer['stage']})")
        result = answer["result"]
        if "raised" in result:
            return Answer([], f"{result['raised']}: {result['text']}")
        return Answer(result["replies"])

    return asked


def difference(questions: list[Question], first: tuple[Side, Answer], second: tuple[Side, Answer]) -> Difference:
    """Whether two sides, each with its answer to the questions, play alike."""
    pairs = list(zip(first[1].replies, second[1].replies, strict=False))
    differ = [n for n, (a, b) in enumerate(pairs) if (a["column"], a["type"]) != (b["column"], b["type"])]
    if not differ:
        return Difference(0, len(pairs))
    a, b = pairs[differ[0]]
    said = f"first after {questions[differ[0]].obs['step']} plies: {_said(a)}, and in the file {_said(b)}"
    sides = tuple(lambda asked, side=side: side(asked).replies for side, _ in (first, second))
    draws = drawn([questions[n] for n in differ], sides, SECONDS)  # type: ignore[arg-type]
    alike = f"each column comes as often, in {len(differ)} positions of {draws.rounds} draws"
    return Difference(len(differ), len(pairs), said, "" if draws.differ else alike)


def asked_here(function: Callable, state: Mapping[str, Callable[[], Any]], questions: list[Question]) -> Answer:
    """What a function replies that runs in this process, to as many questions as the time allows.

    Args:
        state: what may change as it plays, see ``Written``.
    """
    asked = [question.as_json() for question in questions]
    if not HAS_FORK:
        names = namespace_of(function)
        before = dict(names)
        try:
            replies = list(_asked(function, asked))
            return Answer(replies, "" if replies else f"gives no answer here within {SECONDS:g} s")
        finally:
            names.update(before)  # what was bound anew; what was changed in place stays so
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ours)
            _hush()
            with os.fdopen(theirs, "w", buffering=1) as pipe:
                before = contents(state)
                try:
                    for reply in _asked(function, asked):
                        print(json.dumps(reply), file=pipe)
                except BaseException as problem:  # SystemExit, too, which no move may raise
                    print(json.dumps(f"raises {type(problem).__name__}: {problem}"), file=pipe)
                after = contents(state)
                print(json.dumps([label for label in state if before[label] != after[label]]), file=pipe)
        finally:
            os._exit(0)
    os.close(theirs)
    lines = [json.loads(line) for line in _lines(ours)]
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    is_whole = bool(lines) and isinstance(lines[-1], list)
    changed, why = lines.pop() if is_whole else [], ""
    if not is_whole and code != -signal.SIGKILL:
        why = f"is killed by {signal_name(-code)}" if code < 0 else f"ends its process (exit code {code})"
    elif lines and isinstance(lines[-1], str):
        why = lines.pop()
    elif not lines:
        why = f"gives no answer here within {SECONDS:g} s"
    return Answer(lines, why, changed)


def contents(state: Mapping[str, Callable[[], Any]]) -> dict[str, str]:
    """A digest of each value; "" of one that no file can hold."""
    found = dict[str, str]()
    for label, of in state.items():
        values = Values(qualified_name, lambda held: "", lambda text: None)
        with contextlib.suppress(Exception):  # their code may raise anything
            values.add(label, of(), label)
            found[label] = values.digest()
    return {label: found.get(label, "") for label in state}


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


def _asked(function: Callable, questions: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    started, count = time.monotonic(), runner.positional(function)

    def agent(obs: Any, config: Any) -> Any:
        return function(*(obs, config)[:count])

    for question in questions:
        yield runner.ask(agent, question, "", lambda entries: Struct(**entries))
        if time.monotonic() - started > SECONDS:
            return


def _said(reply: dict[str, Any]) -> str:
    return f"{reply['text']:.100}" if reply["type"] != "exception" else f"raises {reply['text']:.100}"
