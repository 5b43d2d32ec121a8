"""Will Kaggle accept this file? Tests it in fresh processes against the rules of its loader, clock and environment.

The verdict comes from the validation game: the file against itself in Kaggle's own environment, each seat in its own
process in the judge's place (``connectx_toolkit.kaggle.sandbox``, ``connectx_toolkit.kaggle.seats``). Before it, hard
positions are asked: they show why a game fails, and which positions will be a problem for an accepted file later.
"""

import ast
import math
import os
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from connectx_toolkit.builder.preflight.asking import (
    ASK_SECONDS,
    GAME_MOVES,
    ON_OVERAGE,
    Asked,
    SelfGame,
    ask_hard_questions,
    name_first,
    play_game,
    play_validation,
)
from connectx_toolkit.builder.preflight.findings import Report, ReportLine, async_agent, judge_callable
from connectx_toolkit.builder.preflight.trial import LONG_GAME, QUICK, Runner, Sandbox, open_sandbox
from connectx_toolkit.kaggle import sandbox
from connectx_toolkit.kaggle.jobs import SLOWER
from connectx_toolkit.kaggle.raised import raised_from_line
from connectx_toolkit.kaggle.remedies import KNOWN_PACKAGES, Situation, not_here, remedy_for, standing_of
from connectx_toolkit.kaggle.rules import Limits
from connectx_toolkit.kaggle.upload import Unsuitable, parse_main, read_upload, refuse_notebook_as_script, unpack_upload
from connectx_toolkit.system.console import at_python
from connectx_toolkit.system.cores import share_of_core

GUARD_MARK, TOO_LATE = "submission guard:", "TimeoutError: the agent"
GUARD_SAYS = re.compile(  # before the exception
    rf".*{GUARD_MARK} (?:the agent did not load|played column \d+ instead): "
    "(?:RuntimeError: (?:not loaded: |(?=SystemExit|KeyboardInterrupt)))?"
)
TRACED_LOAD, TRACED_SHARE = 2.0, 0.1  # seconds of a load, and of the time of the questions
WAITED = 0.1  # share of the time that was spent waiting for a processor, which may be why the guard had to answer
GUARDED = 3  # threads of a submission of ours: its guard, its agent, and an agent that the guard did not wait for
LOG_KEPT = 10_000  # characters of what a move prints: a measured limit of Kaggle's log
COMPLAINS = re.compile(r"not found|no such file|missing|not load|uninitiali|untrained|random weights", re.IGNORECASE)
CURE_OF_OVERAGE = (
    "think for less than config.actTimeout, or read obs.remainingOverageTime "
    "(budget_for of connectx_core.clock does both, in an agent that the toolkit builds)"
)
BY_THREADS = (
    "Kaggle's server calls each move in a new thread, and there it fails; Kaggle's env.run calls all moves in one, and "
    "there it plays a game against itself to the end"
)
OTHERS_COMPUTED = "not judged: other programs kept it from the processor. Check again on an idle machine"
ENOUGH_SHARE = 0.7  # of the share of a processor that --slowdown wants: with less, other programs had the rest
# kind of a finding of ``connectx_toolkit.kaggle.sandbox`` -> topic and text of the note on a file that plays anyway
ASSUMPTIONS = {
    "file": ("isolation", "opens {}. The judge lacks that file; with it hidden, the agent still played"),
    "network": ("isolation", "tries to reach {}. The judge has no network; with it blocked, the agent still played"),
    "late": (
        "package",
        "imports {} when Kaggle has taken the folder off sys.path; without it, the agent still played",
    ),
}


def run_preflight(
    path: Path,
    runner: Runner,
    limits: Limits | None = None,
    slowdown: float | None = None,
    full: bool = False,
    extra: Callable[[Sandbox, Path, Report], None] | None = None,
    home: Path | None = None,
) -> Report:
    """The pre-flight check of a finished file, a .py or a .tar.gz.

    Args:
        limits: the judge's limits; by default ``Limits()``.
        slowdown: also measure with the processor restricted to 1/slowdown of one core.
        full: with ``extra``, play the validation game at the judge's own clock, which may take minutes.
        extra: called as extra(sandbox, file, report) after the games, for the builder's comparison. A built file has a
            guard and is compared with its source, so that a quick game will do.
        home: the folder in which the author has what the file names; by default the file's.

    Raises:
        OSError: the file cannot be read.
        RunnerDied: kaggle-environments does not work here.
    """
    limits = limits or Limits()
    report = Report(path.name)
    with open_sandbox(limits, runner, path.name) as here:
        here.home = home or path.absolute().parent
        try:
            main, tree = _unpack_file(path, here, report)
        except Unsuitable:
            return report
        report.figures["kaggle_environments"] = runner.hello["kaggle"]
        if here.not_imitated:
            report.add("machine", "note", f"not imitated: {', '.join(here.not_imitated)}")
        here.seal()
        asked = ask_hard_questions(here, report)
        _judge_game(here, tree, asked, extra is not None and not full, report)
        if report.accepted:
            _note_assumptions(here, asked, report)
            if extra is None:
                _note_caught(here, asked, report)
        if extra is not None:
            extra(here, main, report)
        if slowdown is not None and report.accepted:
            _check_slow(here, report, slowdown)
    return report


def _unpack_file(path: Path, here: Sandbox, report: Report) -> tuple[Path, ast.Module]:
    """Unpacks and compiles the file as Kaggle does; main.py and its tree.

    Raises:
        Unsuitable: Kaggle cannot do that; the report says why.
    """
    topic = "size"
    try:
        content = read_upload(path, here.limits.size)
        report.figures["size"] = len(content)
        report.add(topic, "pass", f"{len(content):,} bytes of {here.limits.size:,} allowed")
        topic = "format"
        main = unpack_upload(path.name, content, here.root / "agent")
        topic = "text"
        tree = parse_main(main.read_bytes())
        refuse_notebook_as_script(tree)
        report.add(topic, "pass", "UTF-8, compiles")
        topic = "callable"
        if waits := async_agent(tree):
            raise Unsuitable(f"{waits} is async: Kaggle does not await it; write a plain def")
    except Unsuitable as fault:
        report.add(topic, "reject", str(fault))
        raise
    return main, tree


def _judge_game(here: Sandbox, tree: ast.Module, asked: Asked, is_quick: bool, report: Report) -> None:
    """Plays the validation game. If it fails, the questions' faults are the reasons; otherwise they are warnings."""
    for name in (_absent_package(fault.text) for fault in asked.faults if fault.is_first):
        if name:
            report.add("package", "unknown", f"not judged: {not_here(name)}")
            return
    is_clear = any(fault.ends_all for fault in asked.faults)
    game = None if is_clear else play_validation(here, asked, is_quick)
    fails = game is None or bool(game.fault)
    is_open = fails and _is_for_want_of_sandbox(here)
    if fails and not is_open and _plays_in_one_thread(here, game):
        report.add("threads", "reject", BY_THREADS)
    if asked.loaded is not None:
        judge_callable(tree, asked.loaded, fails and not is_open, report)
    level = "unknown" if is_open else "reject" if fails else "warning"
    for fault in asked.faults:
        report.add(fault.topic, level, fault.text if fails else fault.later)
    if asked.loaded is not None:
        _report_replies(here, asked, report)
    if game is None:  # nothing was played: what its text passes is no comfort
        report.findings = [finding for finding in report.findings if finding.level != "pass"]
        return
    asked.seen += [(kind, name) for kind, name in game.result.get("seen", [])]
    _report_game(here, game, asked, report)
    _report_clock(here, game, asked, report)
    if report.accepted:
        _warn_of_missing_data(here, game, asked, report)


def _plays_in_one_thread(here: Sandbox, failed: SelfGame | None) -> bool:
    """Whether a file plays the game that failed, or any if it did not load, if all moves are called in one thread."""
    if failed is None:
        return not play_game(here, QUICK, in_one_thread=True).fault
    is_no_thread = failed.is_late or failed.answer["ended"] == "memory" or failed.answer["seconds"] > LONG_GAME
    return not is_no_thread and not play_game(here, failed.clock, failed.seed, in_one_thread=True).fault


def _is_for_want_of_sandbox(here: Sandbox) -> bool:
    """Whether the file may fail only because it names the judge's folder, which cannot be made here."""
    return not here.has_sandbox and here.mentions("kaggle_simulations")


def _absent_package(text: str) -> str:
    """The package that Kaggle probably has and this machine lacks, as a fault tells; "" if it tells of none."""
    match = re.search(r"No module named '(\w+)", text)
    return match[1] if match and match[1] in KNOWN_PACKAGES and find_spec(match[1]) is None else ""


def _report_game(here: Sandbox, game: SelfGame, asked: Asked, report: Report) -> None:
    """Reports the game, and a second one without other programs if the file starts any."""
    is_true = game.clock == (here.limits.act_timeout, here.limits.overage)
    how = "full=True plays" if at_python() else "--full and --submit play"
    quick = f"only a quick game ({game.clock[0]:g} s a move; {how} it at the judge's clock)"
    clock = (f"{game.reason}, so " if game.reason else "") + "the judge's clock" if is_true else quick
    name = f"against itself, a process for each seat, {clock}"
    if game.fault:
        is_told = not game.cure or any(game.cure in fault.text for fault in asked.faults)
        text = f"{name}: {game.fault}" + ("" if is_told else f"; {game.cure}")
        if _is_for_want_of_sandbox(here):
            report.add("place", "unknown", f"not judged, for {here.sandbox_note}: {game.fault}")
        elif game.is_late and not game.is_late_by(here.limits, is_idle=True):
            report.add("game", "unknown", f"{text}; {OTHERS_COMPUTED}")
        else:
            report.add("memory" if game.answer["ended"] == "memory" else "game", "reject", text)
        return
    durations, overages = game.result["durations"], game.result["overages"]
    firsts = " and ".join(f"{times[0]:.2f} s" for times in durations if times)
    slowest = f"slowest later move {max(max(times[1:], default=0.0) for times in durations):.2f} s"
    done = f"DONE in {game.result['plies']} plies"
    done += f" (none of {game.count} games with seeds from 0 failed)" if game.count > 1 else ""
    text = f"{name}: {done}, first moves with load {firsts}, {slowest}"
    report.add("game", "pass", f"{text}, {min(overages):.1f} s left of {game.clock[1]:g} s of overage time")
    report.figures["overage_left"] = overages
    waits = [sum(seat) / max(sum(t), 0.001) for seat, t in zip(game.result["waited"], durations, strict=True)]
    _judge_guard(list(zip(game.result["stderr"], waits, strict=True)), here.situation, report)
    if programs := sorted({name for kind, name in asked.seen if kind == "program"}):
        started = f"starts {', '.join(programs[:3])}; nobody says whether the judge has that"
        hidden = play_game(here, game.clock, hides_programs=True)
        without = f"and without it the game fails: {hidden.fault}; catch the failure and go on in Python"
        level, then = ("unknown", f", {without}") if hidden.fault else ("note", "; it plays on without")
        report.add("isolation", level, started + then)


def _report_clock(here: Sandbox, game: SelfGame, asked: Asked, report: Report) -> None:
    """Reports load, first move and overage time; leaves open what may have come from waiting for a processor."""
    timed = zip(("first move", ON_OVERAGE), asked.replies, strict=False)  # the replies that the figures are of
    fails = {topic for topic, reply in timed if reply["type"] == "exception"}
    idle, busy = (_timeout_findings(game, asked, here.limits, is_idle) for is_idle in (True, False))
    for least, most in zip(idle, busy, strict=True):
        if least.topic in fails:
            report.add(least.topic, "note", "not measured: the call fails")
        elif (least.level == "reject") == (most.level == "reject"):
            report.add(*least)
        else:
            report.add(least.topic, "unknown", f"{most.text}; {OTHERS_COMPUTED}")


def _timeout_findings(game: SelfGame, asked: Asked, limits: Limits, is_idle: bool) -> list[ReportLine]:
    """What the times say of the first move and of the overage time; [] if there are none."""
    figures, suspicions = asked.figures(limits, is_idle), asked.suspicions(limits, is_idle)
    if not figures:
        return []
    slowest = f"slowest move {figures['slowest_move_seconds']:.2f} s"
    with_move = f"with the first move {figures['first_move_seconds']:.2f} s of {limits.first_move:g} s"
    load = f"load {figures['load_seconds']:.2f} s, {with_move}, {slowest}"
    is_late = game.is_late_by(limits, is_idle)
    first = ReportLine("first move", "pass", load)
    if "first move" in suspicions and is_late:
        first = ReportLine("first move", "reject", load)
    elif "first move" in suspicions:
        first = ReportLine("first move", "note", f"{load}; a whole game at the judge's clock kept to it")
    if ON_OVERAGE not in suspicions:
        used = f"takes {figures['projected_overage']:.1f} s of the {limits.overage:g} s"
        return [first, ReportLine(ON_OVERAGE, "pass", f"a game of {GAME_MOVES} moves at this pace {used}")]
    count = game.moves_on_overage(limits, figures["overdrawn_seconds"], is_idle)
    gone = f"it is gone after {count:.0f} moves" if count < math.inf else "later in the game it takes less"
    level = "reject" if is_late or count < GAME_MOVES else "note"
    usual = f", and a game may have {GAME_MOVES}" if level == "reject" else ""
    return [first, ReportLine(ON_OVERAGE, level, f"{suspicions[ON_OVERAGE]}: {gone}{usual}. Cure: {CURE_OF_OVERAGE}")]


def _report_replies(here: Sandbox, asked: Asked, report: Report) -> None:
    """Reports the replies of a file that was loaded, and what they took."""
    if peak := report.figures["peak_memory"]:
        grown = max(0, peak - here.runner.hello["memory"])
        text = f"peak {peak / 2**20:.0f} MiB, {grown / 2**20:.0f} more than the empty judge"
        report.add("memory", "pass", text)
    if (printed := max((reply["printed"] for reply in asked.replies), default=0)) > LOG_KEPT:
        text = f"prints {printed:,} characters in a move: that takes time, and Kaggle's log keeps {LOG_KEPT:,}"
        report.add("output", "note", text)
    if (threads := max((reply["threads"] for reply in asked.replies), default=1)) > GUARDED:
        text = f"{threads} threads: they take turns on a judge with one processor, and nobody says how many it has"
        report.add("threads", "note", text)
    if not asked.faults:
        left_out = len(asked.questions) - len(asked.replies)
        cut = f" ({left_out} more left out after {ASK_SECONDS:g} s)" if left_out else ""
        report.add("replies", "pass", f"a legal int to each of {len(asked.replies)} hard positions{cut}")
        missed = [q.name for q, reply in asked.pairs if q.sound is not None and reply["column"] not in q.sound]
        if missed:
            report.add("play", "note", f"misses {'; '.join(missed)}")
    said = [(reply["stderr"], reply["waited"] / max(reply["seconds"], 0.001)) for reply in asked.replies]
    _judge_guard([((asked.loaded or {})["load_stderr"], 0.0), *said], here.situation, report)


def _judge_guard(said: list[tuple[str, float]], situation: Situation, report: Report) -> None:
    """Rejects a submission of ours whose guard had to answer: it is legal, but not what its author meant.

    There is no verdict if it was late for want of a processor, or lacks a package that Kaggle probably has.

    ``said``: what it printed to stderr, and the share of the time that it waited for a processor.
    """
    lines = [(line, wait > WAITED and TOO_LATE in line) for text, wait in said for line in text.splitlines()]
    lines = sorted(((line, excused) for line, excused in lines if GUARD_MARK in line), key=lambda pair: pair[1])
    if lines and not any(finding.topic == "guard" for finding in report.findings):
        (line, is_excused), answered = lines[0], "the agent itself failed, the guard answered: "
        cure = OTHERS_COMPUTED if is_excused else remedy_for(raised_from_line(GUARD_SAYS.sub("", line)), situation)
        level = "unknown" if is_excused or _absent_package(line) else "reject"
        report.add("guard", level, f"{answered}{line[:400]}{'; ' * bool(cure)}{cure}")


def _warn_of_missing_data(here: Sandbox, game: SelfGame, asked: Asked, report: Report) -> None:
    """Warns of data that the file looked for, and played without: with what it said of that in its first move."""
    beside = {os.path.basename(file) for file in here.situation.files}
    absent = dict.fromkeys(name for kind, name in asked.seen if kind == "absent" and name not in beside)
    names = [name for name in absent if here.mentions(name)]
    if names:
        lines = (line for said in game.result["said"] for line in said.splitlines())
        said = next((f"; it says: {line.strip()[:200]}" for line in lines if COMPLAINS.search(line)), "")
        report.add("data", "warning", f"names {name_first(names)}, which is not beside it, and plays without{said}")


def _note_assumptions(here: Sandbox, asked: Asked, report: Report) -> None:
    """Notes what the file tried to use and was denied, or was given here and may lack on the judge."""
    by_kind: dict[str, list[str]] = {}
    for kind, name in dict.fromkeys(asked.seen):
        if kind != "file" or os.path.exists(name):  # on this machine, outside the place
            by_kind.setdefault(kind, []).append(name)
    report.figures["seen"] = [f"{kind} {name}" for kind, names in by_kind.items() for name in names]
    for kind, (topic, text) in ASSUMPTIONS.items():
        if kind in by_kind:
            report.add(topic, "note", text.format(name_first(by_kind[kind])))
    for name in by_kind.get("missing", []):
        otherwise = ": there it may play otherwise" if name in KNOWN_PACKAGES else ""
        text = f"{name} is not installed here, and it played without; {standing_of(name)}{otherwise}"
        report.add("package", "note", text)
    if _is_for_want_of_sandbox(here):
        report.add("place", "note", f"{here.sandbox_note}: what it does there could not be tried, the rest could")


def _note_caught(here: Sandbox, asked: Asked, report: Report) -> None:
    """Names errors that the file catches by a handler for any; asked again for that, for a share of the time."""
    seconds = sum(reply["seconds"] for reply in asked.replies)
    if report.figures["load_seconds"] > TRACED_LOAD or here.mentions(GUARD_MARK):
        return
    name = f"{sandbox.FOLDER}/main.py" if here.has_sandbox else str(here.main)
    limits = {"stop_after": TRACED_SHARE * seconds, "at_least": 3}
    answer = here.replies(here.main, "path", asked.questions, traced=[name], **limits)
    if answer["ended"] == "ok" and "trace" in answer["result"]:
        report.add_caught(answer["result"]["trace"], lambda _, line: f"{report.name}, line {line}")


def _check_slow(here: Sandbox, report: Report, slowdown: float) -> None:
    """Checks the clock again on a restricted processor; if it is at risk, a game at the judge's clock decides."""
    if SLOWER in here.runner.hello["lacks"]:
        report.add("slow", "unknown", "not judged: this system cannot slow a process down")
        return
    restriction, slow = share_of_core(1 / slowdown), Report(report.name)
    share = here.run({"job": "spin", "seconds": 1.5} | restriction)["result"]["share"]
    asked = ask_hard_questions(here, slow, restriction, at_least=2, stop_after=0.0)
    report.figures["slow"] = {"wanted_share": 1 / slowdown, "achieved_share": share} | slow.figures
    report.add("slow", "note", f"restricted to {share:.0%} of one core ({1 / slowdown:.0%} asked for)")
    game = SelfGame((0, 0), {"ended": "ok", "result": {}})
    is_late = any(fault.kind == "run out of time" for fault in asked.faults)
    if asked.suspicions(here.limits, is_idle=True) and not is_late:
        game = play_game(here, (here.limits.act_timeout, here.limits.overage), **restriction)
    _report_clock(here, game, asked, slow)
    for fault in asked.faults:
        slow.add(fault.topic, "reject" if fault.is_first else "warning", fault.text)
    if game.fault:
        slow.add("game", "reject", game.fault)
    for _, level, text in slow.findings:
        is_open = level == "reject" and share < ENOUGH_SHARE / slowdown
        report.add("slow", "unknown" if is_open else level, f"{text}; {OTHERS_COMPUTED}" if is_open else text)
