"""Loads a file in a first process and asks it hard positions: which faults occur, and is the clock at risk?

Where other programs compute, a file waits for a processor. An idle machine would not show this time if a move ends when
its work is done, but would if it ends by the clock. ``find_what_ends_a_move`` finds out which of the two it is; as long
as that is not known, a verdict must be the same either way.
"""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from connectx_toolkit.builder.preflight.questions import Question, hard_questions
from connectx_toolkit.builder.preflight.report import Report
from connectx_toolkit.builder.preflight.stage import Stage
from connectx_toolkit.kaggle.remedies import exception_line, explained, wrong_type
from connectx_toolkit.kaggle.rules import Limits

OVERAGE = "overage time"
GAME_MOVES = 21  # the longest game has this many moves for each side on 7x6
ASK_SECONDS = 15.0  # after this no further question is asked
OPTIONAL_SECONDS = 3.0  # for each question on another board
OVERDRAWN = 0.1  # share of actTimeout: who exceeds it by more, when no overage time is left, does not look at the clock
OTHER_SHARE = 1.3  # by how much the share of a processor should differ to tell what ends a move
NEARLY_ALL, LEAST_SHARE = 0.7, 0.05  # of a processor
PRIORITY = -15  # against two programs a core, for one that always computes: nine tenths of it
BY_CLOCK, BY_WORK = 0.25, (0.75, 1.5)  # delay of a move as a share of that which its work would have
BUSY = 0.25  # share of the time that was spent waiting for a processor, above which the machine is called busy
NEARLY_FULL = {"one column is left", "one cell is left"}
FULL_COLUMNS = {"column 0 is full", "the middle is full"}


class Reading(NamedTuple):
    """Whether the seconds that were waited for a processor are taken off the first move with its load, and off others.

    Loading is work, whatever ends a move.
    """

    first: bool
    later: bool


WORK, CLOCK, ALL = Reading(True, True), Reading(True, False), Reading(False, False)


class Fault(NamedTuple):
    """Something that went wrong while the file was loaded and asked.

    kind: "fail to load", "crash", "forfeit", "run out of time", "end its process" or "run out of memory".
    names: the questions that caused it.
    is_first: it occurs at the load or at the first move.
    """

    topic: str
    kind: str
    text: str
    names: tuple[str, ...] = ()
    is_first: bool = False

    @property
    def ends_all(self) -> bool:
        """Whether a game is certain to fail, so that none need be played."""
        return self.is_first and self.kind in ("run out of time", "run out of memory")

    @property
    def later(self) -> str:
        """The warning if Kaggle accepts the file in spite of the fault."""
        if not self.names:
            return f"one of several processes failed to load it: {self.text}"
        when = f"asked on {first_of(list(self.names))}"
        if set(self.names) <= NEARLY_FULL:
            when = f"the board is nearly full ({'; '.join(self.names)})"
        elif set(self.names) <= FULL_COLUMNS:
            when = " or ".join(self.names)
        return f"would be accepted, then {self.kind} when {when}: {self.text}"


@dataclass
class Asked:
    """The results of loading the file and asking it hard positions; the ``optional`` ones are on other boards.

    readings: between them lies what an idle machine would show, from the shortest times to the longest.
    """

    questions: list[Question]
    loaded: dict[str, Any] | None
    replies: list[dict[str, Any]]
    seen: list[tuple[str, str]]
    faults: list[Fault] = field(default_factory=list)
    optional: dict[str, list[str]] = field(default_factory=dict)  # fault -> names of questions
    fails_at_true_clock: bool = False  # whether a fault occurred at the judge's own clock
    readings: tuple[Reading, Reading] = (WORK, ALL)

    @property
    def told(self) -> Reading:
        """The reading whose times are told: what its watch shows, if we know that it looks at one."""
        return self.readings[self.readings[0] == CLOCK]

    @property
    def standard(self) -> list[tuple[Question, dict[str, Any]]]:
        return [pair for pair in zip(self.questions, self.replies, strict=False) if not pair[0].is_optional]

    def figures(self, limits: Limits, reading: Reading) -> dict[str, float]:
        """Seconds of the load, first and slowest move on 7x6, and of the overage time of a long game; {} if unknown."""
        if self.loaded is None or len(self.replies) < 2:
            return {}
        first, later = self.replies[:2]
        load = max(0.0, self.loaded["load_seconds"] - reading.first * self.loaded["waited"])
        first_move = load + first["seconds"] - reading.first * first["waited"]
        over = max(0.0, later["seconds"] - reading.later * later["waited"] - limits.act_timeout)
        return {
            "load_seconds": load,
            "first_move_seconds": first_move,
            "slowest_move_seconds": max(reply["seconds"] for _, reply in self.standard),
            "overdrawn_seconds": over,
            "projected_bank_seconds": max(0.0, first_move - limits.act_timeout) + (GAME_MOVES - 1) * over,
        }

    def suspicions(self, limits: Limits, reading: Reading) -> dict[str, str]:
        """Topic -> how the clock may be exceeded."""
        figures, found = self.figures(limits, reading), dict[str, str]()
        if figures and figures["first_move_seconds"] > limits.first_move:
            found["first move"] = f"the first move takes {figures['first_move_seconds']:.1f} s with the load"
        if figures and (over := figures["overdrawn_seconds"]) > OVERDRAWN * limits.act_timeout:
            found[OVERAGE] = f"a move takes {limits.act_timeout + over:.1f} s even when no overage time is left"
        return found


def ask(
    here: Stage,
    report: Report,
    restriction: dict[str, Any] | None = None,
    other_boards: bool = False,
    **options: Any,
) -> Asked:
    """Loads the file by path in a fresh process and asks the hard questions.

    Args:
        other_boards: also ask on boards of other sizes, where a fault is only noted.
        restriction: of the processor (``Restriction.job``); time spent waiting for it then counts as the agent's.
    """
    limits = here.limits
    questions = hard_questions(limits.act_timeout, limits.bank, other_boards)
    slow = {f"question {number}": OPTIONAL_SECONDS for number, q in enumerate(questions) if q.is_optional}
    settings: dict[str, Any] = {"stop_after": ASK_SECONDS, "at_least": 3, "limits": slow}
    settings |= {"before a game": True} if restriction is None else restriction
    answer = here.replies(here.main, "path", questions, **settings | options)
    if restriction is None:
        _note_a_busy_machine(answer["parts"][1:], report)
    report.figures["peak_memory"] = answer["peak"]
    parts = answer["parts"]
    loaded, replies = (parts[0], parts[1:]) if parts and "name" in parts[0] else (None, [])
    seen = [(kind, name) for part in parts for kind, name in part["seen"]]
    asked = Asked(questions, loaded, replies, seen, readings=(WORK if restriction is None else ALL, ALL))
    _find_faults(here, asked)
    ending = _ending(here, asked, answer)
    if ending is not None and ending.names and questions[len(replies)].is_optional:
        asked.optional.setdefault(ending.text, []).extend(ending.names)
    elif ending is not None:
        asked.faults.append(ending)
    timed = {q.name for q in questions if q.config["actTimeout"] == limits.act_timeout}
    asked.fails_at_true_clock = any(timed & {*fault.names} for fault in asked.faults)
    report.figures |= asked.figures(limits, asked.told)
    return asked


def find_what_ends_a_move(here: Stage, asked: Asked) -> None:
    """Sets ``asked.readings`` if it is clear what ends a move.

    The first two questions are asked again, and the second gets another share of the processor: a larger one where this
    user may take it from other programs, else half of the one it had.
    """
    if len(asked.replies) < 2 or asked.readings != (WORK, ALL):
        return
    before = asked.replies[1]
    half = min(1.0, before["processor"] / before["seconds"]) / 2
    for share in ({"priority": PRIORITY}, {"duty": max(LEAST_SHARE, half), "duty_at": "question 1"}):
        parts = here.replies(here.main, "path", asked.questions[:2], **share)["parts"]
        end = end_of_a_move(before, parts[2]) if len(parts) == 3 else ""
        if end:
            asked.readings = (WORK, WORK) if end == "work" else (CLOCK, ALL)
            return


def end_of_a_move(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What two replies to a question, at different shares of a processor, say: "clock", "work", or "" if not clear.

    An agent that watches the clock takes the same time with a smaller share, and does less; one that does not takes
    longer, and does the same. But what the clock ended at small shares may be done sooner on an idle machine.
    """
    if min(reply["processor"] for reply in (before, after)) <= 0:
        return ""
    delay = math.log(after["seconds"] / before["seconds"])
    fewer = delay - math.log(after["processor"] / before["processor"])
    if abs(fewer) < math.log(OTHER_SHARE):
        return ""
    follows = delay / fewer  # 0 if the time stays, 1 if it is in inverse proportion to the share
    if BY_WORK[0] < follows < BY_WORK[1]:
        return "work"
    is_like_idle = max(reply["processor"] / reply["seconds"] for reply in (before, after)) > NEARLY_ALL
    return "clock" if abs(follows) < BY_CLOCK and is_like_idle else ""


def confirm(here: Stage, asked: Asked) -> None:
    """Drops faults that do not occur when the question is asked alone, in a new process.

    Agents may keep state from move to move, and the questions do not follow each other as in a game.
    """
    questions = {question.name: question for question in asked.questions}
    kept = []
    for fault in asked.faults:
        if fault.kind in ("crash", "forfeit"):
            question = questions[fault.names[0]]
            answer = here.replies(here.main, "path", [question])
            replies = answer["parts"][1:]
            if replies and not fault_of(question, replies[0])[0]:
                continue
        kept.append(fault)
    asked.faults = kept


def _ending(here: Stage, asked: Asked, answer: dict[str, Any]) -> Fault | None:
    """The fault that ended the questions early; None if there is none."""
    result, limits = answer["result"], here.limits
    if answer["ended"] == "ok" and "raised" not in result:
        return None
    number = len(asked.replies)
    is_load = asked.loaded is None
    names = () if is_load else (asked.questions[number].name,)
    topic, at = ("load", "load") if is_load else ("replies", f"at {asked.questions[number].name!r}")
    is_first = is_load or number == 0
    if answer["ended"] == "timeout":
        if names and asked.questions[number].is_optional:
            text = f"no answer within {OPTIONAL_SECONDS:g} s, so the boards after it were skipped"
        else:
            text = f"no answer within {limits.first_move:g} s ({at})"
        return Fault(topic, "run out of time", text, names, is_first)
    if answer["ended"] == "memory":
        text = f"more than {limits.memory / 2**20:.0f} MiB ({at})"
        return Fault("memory", "run out of memory", text, names, is_first)
    if answer["ended"] != "ok":
        text = f"the process {answer['ended']} ({at}): {answer['tail'][-300:]}"
        return Fault(topic, "end its process", text, names, is_first)
    if result["raised"] == "InvalidArgument":
        text = f"fails: {_cause(result)}"
    else:
        text = f"{result['raised']} escapes ({at}): {result['text']}"
    kind = "fail to load" if is_load else "end its process"
    return Fault(topic, kind, explained(text, result["trace"], here.situation), names, is_first)


def _cause(result: dict[str, Any]) -> str:
    """The exception of the file itself while Kaggle's loader ran it, which names files, unlike its repr."""
    own = result["trace"].partition("\n\nDuring handling of the above exception")[0]
    return exception_line(own) or result["text"].removeprefix("Invalid raw Python: ")


def fault_of(question: Question, reply: dict[str, Any]) -> tuple[str, str]:
    """(kind of fault, text) of a reply by Kaggle's rules; ("", "") if it is correct."""
    kind, column, text = reply["type"], reply["column"], reply["text"]
    if kind == "exception":
        return "crash", f"raises {text}"
    if kind == "NoneType":
        return "forfeit", "returns None, which Kaggle plays as column 0 until it is full"
    if kind != "int":
        return "forfeit", wrong_type(kind)
    return ("", "") if column in question.legal else ("forfeit", f"returns {column}, not a legal column")


def _find_faults(here: Stage, asked: Asked) -> None:
    """Adds the faults of the replies, one for each cause: for example, all replies of type bool are one fault."""
    pairs = list(zip(asked.questions, asked.replies, strict=False))
    groups: dict[tuple[str, str], list[tuple[Question, dict[str, Any], str]]] = {}
    for question, reply in pairs:
        kind, text = fault_of(question, reply)
        if kind and question.is_optional:
            asked.optional.setdefault(text, []).append(question.name)
        elif kind:
            cause = text.split("(")[0] if kind == "crash" else "not a legal column" if reply["type"] == "int" else text
            groups.setdefault((kind, cause), []).append((question, reply, text))
    for (kind, _), cases in groups.items():
        question, reply, text = cases[0]
        returned = list(dict.fromkeys(case[1]["text"] for case in cases))
        if kind == "forfeit" and reply["type"] not in ("NoneType", "int"):
            text = f"returns {', '.join(returned[:3])}, {text}"
        elif kind == "forfeit" and reply["type"] == "int" and len(returned) > 1:
            text = f"returns {', '.join(returned[:3])}, not legal columns"
        names = tuple(case[0].name for case in cases)
        text = f"{explained(text, reply['trace'], here.situation)} ({len(names)} of {len(asked.standard)} positions)"
        asked.faults.append(Fault("replies", kind, text, names, question is asked.questions[0]))


def _note_a_busy_machine(replies: list[dict[str, Any]], report: Report) -> None:
    """Notes that the times are this machine's: who counts processor time thinks for longer where others compute."""
    total, waited = (sum(reply[name] for reply in replies) for name in ("seconds", "waited"))
    if waited > max(1.0, BUSY * total):
        text = f"other programs are running: of {total:.1f} s, the agent waited {waited:.1f} s for a processor"
        report.add("machine", "note", f"{text}. Times may be shorter on an idle machine")


def first_of(names: list[str], count: int = 3) -> str:
    """The first names, and the number of the others."""
    return "; ".join(names[:count]) + (f" and {len(names) - count} more" if len(names) > count else "")
