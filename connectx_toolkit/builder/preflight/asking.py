"""Loads a file in a first process and asks it hard positions: which faults occur, and is the clock at risk?

Where other programs compute, a file waits for a processor. On an idle machine this waiting disappears if a move stops
when its work is done, and stays if the move stops by the clock. So times are taken with it and without (``is_idle``),
and where the two would be judged differently, there is no verdict.

At last comes Kaggle's validation game: the file against itself, at the judge's clock or, for a build, first at a quick
one.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, median_low
from typing import Any, NamedTuple

from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.builder.preflight.trial import GAME_PLIES, LONG_GAME, QUICK, Question, Sandbox, hard_questions
from connectx_toolkit.kaggle.raised import Raised
from connectx_toolkit.kaggle.remedies import explain_fault, remedy_for, wrong_type
from connectx_toolkit.kaggle.rules import Limits

ON_OVERAGE = "overage time"
GAME_MOVES = 21  # the longest game has this many moves for each side on 7x6
ASK_SECONDS = 15.0  # after this no further question is asked
OVERDRAWN = 0.1  # share of actTimeout: who exceeds it by more, when no overage time is left, does not look at the clock
BUSY = 0.25  # share of the time that was spent waiting for a processor, above which the machine is called busy
NEARLY_FULL = {"one column is left", "one cell is left"}
FULL_COLUMNS = {"column 0 is full", "the middle is full"}


class FileFault(NamedTuple):
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
        when = f"asked on {name_first(list(self.names))}"
        if set(self.names) <= NEARLY_FULL:
            when = f"the board is nearly full ({'; '.join(self.names)})"
        elif set(self.names) <= FULL_COLUMNS:
            when = " or ".join(self.names)
        return f"would be accepted, then {self.kind} when {when}: {self.text}"


@dataclass
class Asked:
    """The results of loading the file and asking it hard positions.

    loaded: what the runner tells of the load; None if it failed.
    replies: to the first of the questions, or to all.
    seen: (kind, name) of what the file tried to reach, as ``connectx_toolkit.kaggle.sandbox.Watch`` tells.
    """

    questions: list[Question]
    loaded: dict[str, Any] | None
    replies: list[dict[str, Any]]
    seen: list[tuple[str, str]]
    faults: list[FileFault] = field(default_factory=list)

    @property
    def pairs(self) -> list[tuple[Question, dict[str, Any]]]:
        return list(zip(self.questions, self.replies, strict=False))

    def figures(self, limits: Limits, is_idle: bool = True) -> dict[str, float]:
        """Seconds of the load, first and slowest move on 7x6, and of the overage time of a long game; {} if unknown.

        Args:
            is_idle: without the seconds that were waited for a processor.
        """
        if self.loaded is None or len(self.replies) < 2:
            return {}
        load, first, later = (
            max(0.0, each["seconds"] - is_idle * each["waited"])
            for each in (self.loaded | {"seconds": self.loaded["load_seconds"]}, *self.replies[:2])
        )
        over = max(0.0, later - limits.act_timeout)
        return {
            "load_seconds": load,
            "first_move_seconds": load + first,
            "slowest_move_seconds": max(reply["seconds"] for reply in self.replies),
            "overdrawn_seconds": over,
            "projected_overage": max(0.0, load + first - limits.act_timeout) + (GAME_MOVES - 1) * over,
        }

    def suspicions(self, limits: Limits, is_idle: bool) -> dict[str, str]:
        """Topic -> how the clock may be exceeded."""
        figures, reasons = self.figures(limits, is_idle), dict[str, str]()
        if figures and figures["first_move_seconds"] > limits.first_move:
            reasons["first move"] = f"the first move takes {figures['first_move_seconds']:.1f} s with the load"
        if figures and (over := figures["overdrawn_seconds"]) > OVERDRAWN * limits.act_timeout:
            reasons[ON_OVERAGE] = f"a move takes {limits.act_timeout + over:.1f} s even when no overage time is left"
        return reasons


def ask_hard_questions(
    here: Sandbox, report: Report, restriction: dict[str, Any] | None = None, **options: Any
) -> Asked:
    """Loads the file by path in a fresh process and asks the hard questions.

    Args:
        restriction: of the processor (``cores.share_of_core``); time spent waiting for it is then the agent's own.
    """
    limits = here.limits
    questions = hard_questions(limits.act_timeout, limits.overage)
    settings = {"stop_after": ASK_SECONDS, "at_least": 3} | (restriction or {}) | options
    answer = here.replies(here.main, "path", questions, **settings)
    parts = answer["parts"] if restriction is None else [part | {"waited": 0.0} for part in answer["parts"]]
    loaded, replies = (parts[0], parts[1:]) if parts and "name" in parts[0] else (None, [])
    asked = Asked(questions, loaded, replies, [(kind, name) for part in parts for kind, name in part["seen"]])
    asked.faults = [*_group_faults(here, asked), *_fault_of_ending(here, asked, answer)]
    _note_a_busy_machine(replies, report)
    report.figures |= {"peak_memory": answer["peak"]} | asked.figures(limits)
    return asked


def confirm_faults(here: Sandbox, asked: Asked) -> None:
    """Drops faults that do not occur when the question is asked alone, in a new process.

    Agents may keep state from move to move, and the questions do not follow each other as in a game.
    """
    questions = {question.name: question for question in asked.questions}

    def occurs(fault: FileFault) -> bool:
        question = questions[fault.names[0]]
        replies = here.replies(here.main, "path", [question])["parts"][1:]
        return not replies or bool(fault_of(question, replies[0])[0])

    asked.faults = [fault for fault in asked.faults if fault.kind not in ("crash", "forfeit") or occurs(fault)]


def _fault_of_ending(here: Sandbox, asked: Asked, answer: dict[str, Any]) -> list[FileFault]:
    """The fault that ended the questions early, if one did."""
    result, limits, number = answer["result"], here.limits, len(asked.replies)
    if answer["ended"] == "ok" and "raised" not in result:
        return []
    is_load = asked.loaded is None
    names = () if is_load else (asked.questions[number].name,)
    topic, at = ("load", "load") if is_load else ("replies", f"at {asked.questions[number].name!r}")
    kind = "end its process"
    if answer["ended"] == "timeout":
        kind, text = "run out of time", f"no answer in {limits.first_move:g} s ({at})"
    elif answer["ended"] == "memory":
        topic, kind, text = "memory", "run out of memory", f"more than {limits.memory / 2**20:.0f} MiB ({at})"
    elif answer["ended"] != "ok":
        text = f"the process {answer['ended']} ({at}): {answer['tail'][-300:]}"
    else:
        fault = Raised(*result["fault"])
        is_caught = result["raised"] == "InvalidArgument"
        text = f"fails: {fault.line}" if is_caught else f"{result['raised']} escapes ({at}): {result['text']}"
        kind, text = "fail to load" if is_load else kind, explain_fault(text, fault, here.situation)
    return [FileFault(topic, kind, text, names, is_load or number == 0)]


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


def _group_faults(here: Sandbox, asked: Asked) -> list[FileFault]:
    """The faults of the replies, one for each cause: for example, all replies of type bool are one fault."""
    groups: dict[tuple[str, str], list[tuple[Question, dict[str, Any], str]]] = {}
    for question, reply in asked.pairs:
        kind, text = fault_of(question, reply)
        cause = text.split("(")[0] if kind == "crash" else "not a legal column" if reply["type"] == "int" else text
        if kind:
            groups.setdefault((kind, cause), []).append((question, reply, text))
    faults = []
    for (kind, _), cases in groups.items():
        question, reply, text = cases[0]
        returned = list(dict.fromkeys(case[1]["text"] for case in cases))
        if kind == "forfeit" and reply["type"] not in ("NoneType", "int"):
            text = f"returns {', '.join(returned[:3])}, {text}"
        elif kind == "forfeit" and reply["type"] == "int" and len(returned) > 1:
            text = f"returns {', '.join(returned[:3])}, not legal columns"
        names = tuple(case[0].name for case in cases)
        if reply["fault"]:
            text = explain_fault(text, Raised(*reply["fault"]), here.situation)
        text = f"{text} ({len(names)} of {len(asked.replies)} positions)"
        faults.append(FileFault("replies", kind, text, names, question is asked.questions[0]))
    return faults


def _note_a_busy_machine(replies: list[dict[str, Any]], report: Report) -> None:
    """Notes that the times are this machine's: who counts processor time thinks for longer where others compute."""
    total, waited = (sum(reply[name] for reply in replies) for name in ("seconds", "waited"))
    if waited > max(1.0, BUSY * total):
        text = f"other programs are running: of {total:.1f} s, the agent waited {waited:.1f} s for a processor"
        report.add("machine", "note", f"{text}. Times may be shorter on an idle machine")


def name_first(names: list[str], count: int = 3) -> str:
    """The first names, and the number of the others."""
    return "; ".join(names[:count]) + (f" and {len(names) - count} more" if len(names) > count else "")


QUICK_ACT, QUICK_OVERAGE = 0.1, 38.0  # clock of a build's game, which tests only validity
# If the questions found a fault that the first game did not show, more are played. An agent that fails in one game of
# five is accepted by chance in one of a hundred checks; who plays the same game three times does not draw at random.
MOST_GAMES, MOST_GAME_SECONDS, SAME_GAMES = 20, 10.0, 3
SLACK = 0.002  # seconds of a move that starting and asking may take


@dataclass
class SelfGame:
    """The result of a game of the file against itself, and the fault that ended it ("" if none)."""

    clock: tuple[float, float]
    answer: dict[str, Any]
    fault: str = ""
    cure: str = ""
    reason: str = ""  # why the judge's clock was needed where a quick game was wanted
    count: int = 1  # games that were played, if more than one were
    seed: int = 0

    @property
    def result(self) -> dict[str, Any]:
        return self.answer["result"] or {}

    def overdrawn(self, act_timeout: float, is_idle: bool) -> list[list[float]]:
        """Seconds of each seat's moves beyond ``act_timeout``."""
        timed = zip(self.result.get("durations", []), self.result.get("waited", []), strict=True)
        return [
            [max(0.0, seconds - is_idle * waited - act_timeout) for seconds, waited in zip(*seat, strict=False)]
            for seat in timed
        ]

    @property
    def thinking(self) -> float:
        """Seconds that both seats took, without those that they waited; of a game that was ended, those it lasted."""
        return sum(map(sum, self.overdrawn(0.0, is_idle=True))) or self.answer["seconds"]

    def moves_on_overage(self, limits: Limits, otherwise: float, is_idle: bool) -> float:
        """How many moves a seat has until the overage time is gone, at the usual pace of this game.

        ``otherwise``: seconds overdrawn a move if the game does not tell.
        """
        numbers = []
        for seat in self.overdrawn(limits.act_timeout, is_idle) or [[]]:
            pace = median_low(seat[1:] or [otherwise])  # what compiles at the first moves does so once
            # by thousandths of a second a move takes longer than the agent meant: they make no move less
            left = math.floor((limits.overage - sum(seat)) / pace + 0.1) if pace > SLACK else math.inf
            numbers.append(len(seat) + left)
        return min(numbers)

    @property
    def is_late(self) -> bool:
        return self.answer["ended"] == "timeout" or "TIMEOUT" in self.result.get("statuses", [])

    def is_late_by(self, limits: Limits, is_idle: bool) -> bool:
        """Whether a game ended late, and these times are reason enough."""
        seats = self.overdrawn(limits.act_timeout, is_idle) or [[math.inf]]
        return self.is_late and any(sum(seat) > limits.overage for seat in seats)


def play_validation(here: Sandbox, asked: Asked, is_quick: bool) -> SelfGame:
    """Plays the validation game at the judge's clock.

    With ``is_quick`` it is first played at a quick clock, unless the questions found a fault at the judge's, or a risk
    that only the judge's clock decides.
    """
    true = (here.limits.act_timeout, here.limits.overage)
    quick = (min(QUICK_ACT, true[0]), min(QUICK_OVERAGE, true[1]))
    reason = _why_not_quick(here.limits, asked, quick) if is_quick and quick != true else ""
    if is_quick and quick != true and not reason:
        game = _play_at_clock(here, asked, quick, "")
        if not game.fault or asked.loaded is None:
            return game
        reason = "a quick game failed"
    return _play_at_clock(here, asked, true, reason)


def _why_not_quick(limits: Limits, asked: Asked, quick: tuple[float, float]) -> str:
    """Why only a game at the judge's clock can tell; "" if a quick one can."""
    if suspicions := asked.suspicions(limits, is_idle=False):
        return "; ".join(suspicions.values())
    timed = {question.name for question in asked.questions if question.config["actTimeout"] == limits.act_timeout}
    if any(timed & {*fault.names} for fault in asked.faults):
        return "it failed when asked at that clock"
    first = asked.figures(limits).get("first_move_seconds", 0.0)
    return f"the first move took {first:.0f} s with the load" if first > quick[1] / 2 else ""


def _announce_game(here: Sandbox, asked: Asked, act: float, reason: str) -> None:
    """Says what a game at ``act`` seconds a move will take, if that is long or for a reason."""
    act_of = act if act == here.limits.act_timeout else min(QUICK[0], here.limits.act_timeout)  # of the questions
    times = [reply["seconds"] for question, reply in asked.pairs if question.config["actTimeout"] == act_of]
    load = asked.figures(here.limits).get("load_seconds", 0.0)
    seconds = 2 * load + (GAME_PLIES * fmean(times) if times else 0.0)
    if seconds > LONG_GAME or reason:
        why = f" ({reason})" if reason else ""
        here.runner.tell(f"checking: a game against itself at {act:g} s a move, about {seconds:.0f} s{why}")


def _play_at_clock(here: Sandbox, asked: Asked, clock: tuple[float, float], reason: str) -> SelfGame:
    """Plays a game; if it ends well although the questions found a fault, more with other seeds while they are short.

    Of several the first that fails is the result, with their share, else the first.
    """
    _announce_game(here, asked, clock[0], reason)
    game = play_game(here, clock)
    game.reason = reason
    games = [game]
    if not game.fault:
        confirm_faults(here, asked)
    while asked.faults and not game.fault and len(games) < MOST_GAMES and not _is_enough(games):
        games.append(play_game(here, clock, seed=len(games)))
    if failed := [other for other in games[1:] if other.fault]:
        fault = f"{len(failed)} of {len(games)} games failed, for example by {failed[0].fault}"
        failed[0].fault, failed[0].reason = fault, reason
        return failed[0]
    game.count = len(games)
    return game


def _is_enough(games: list[SelfGame]) -> bool:
    """Whether these took long, or are several and all ended with the same board."""
    is_same = all(a.result.get("board") == b.result.get("board") for a, b in pairwise(games))
    return (is_same and len(games) >= SAME_GAMES) or sum(game.thinking for game in games) >= MOST_GAME_SECONDS


def play_game(here: Sandbox, clock: tuple[float, float], seed: int = 0, **options: Any) -> SelfGame:
    """One game of the file against itself."""
    answer = here.game(*clock, seed, **options)
    if "duty" in options and "waited" in (answer["result"] or {}):  # a restricted processor is the agent's own
        answer["result"]["waited"] = [[0.0] * len(seat) for seat in answer["result"]["waited"]]
    game = SelfGame(clock, answer, seed=seed)
    if answer["ended"] == "memory":
        game.fault = f"more than {here.limits.memory / 2**20:.0f} MiB ({answer['step']})"
    elif answer["ended"] == "timeout":
        game.fault = f"no answer ({answer['step']})"
    elif answer["ended"] != "ok":
        game.fault = f"the game {answer['ended']}: {answer['tail'][-300:]}"
    elif "raised" in game.result:
        game.fault = f"{game.result['raised']} escapes Kaggle's environment: {game.result['text']}"
    elif game.result["statuses"] != ["DONE", "DONE"] or None in game.result["rewards"]:
        game.fault = _describe_failed_game(game.result, here.situation.name)
        faults = [Raised(*last["raised"]) for last in game.result["last"] if "raised" in last]
        game.cure = next(filter(None, (remedy_for(fault, here.situation) for fault in faults)), "")
    return game


def _describe_failed_game(result: dict[str, Any], name: str) -> str:
    """Which seat failed in a game that ended early, at which ply, why, and where in the file of this name."""
    seat = next((seat for seat in (0, 1) if result["statuses"][seat] != "DONE"), 0)
    last = result["last"][seat]
    ply = result["plies"] - 1
    where = f"{result['statuses'][seat]} of seat {seat + 1} on ply {ply}"
    if result["statuses"][seat] == "TIMEOUT":
        used = result["durations"][seat][-1:] or [0.0]
        return f"{where}: this move took {used[0]:.1f} s, and the overage time is gone"
    if "fault" in last:
        place = Raised(*last["raised"]).place.replace("main.py", name) if "raised" in last else ""
        return f"{where}: {last['fault'][:300]}" + (f" ({place})" if place else "")
    return f"{where}: it returned {last.get('action')!r}"
