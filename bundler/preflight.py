"""Will Kaggle accept this file? Its loader's rules, its clock and its environment, asked in fresh processes.

Everything that belongs to the file under test runs in ``runner.py``: Kaggle's own loader and environment, a read-only
folder, another working directory, nothing of this project on the path.
"""

import ast
import contextlib
import ctypes
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from bundler.questions import Question, hard_questions
from bundler.restrict import Restriction

RUNNER = Path(__file__).with_name("runner.py")
GUARD_MARK = "submission guard:"
GAME_MOVES = 21  # the longest game has this many moves for each side on 7x6
QUICK_ACT, QUICK_BANK = 0.1, 38.0  # clock of the games that are about validity
PATIENCE = 5.0  # seconds beyond the judge's limit before a stage is given up
ASK_SECONDS = 15.0  # no further question is asked after this many


class Limits(NamedTuple):
    """What the judge allows. Size and memory are not published: these are the sister competitions' figures."""

    act_timeout: float = 2.0  # seconds a move
    bank: float = 60.0  # seconds a game
    size: int = 100 << 20  # bytes
    memory: int = 6 << 30  # bytes

    @property
    def first_move(self) -> float:
        return self.act_timeout + self.bank


class Finding(NamedTuple):
    """One line of the report. ``level`` is "pass", "note" or "reject"."""

    topic: str
    level: str
    text: str


@dataclass
class Report:
    """What was found about a file; it is accepted when no finding rejects it."""

    name: str
    findings: list[Finding] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def accepted(self) -> bool:
        return not self.reasons

    @property
    def reasons(self) -> list[str]:
        return [f"{finding.topic}: {finding.text}" for finding in self.findings if finding.level == "reject"]

    def add(self, topic: str, level: str, text: str) -> None:
        self.findings.append(Finding(topic, level, " ".join(text.split())))

    def as_json(self) -> dict[str, Any]:
        findings = [finding._asdict() for finding in self.findings]
        verdict = "ACCEPT" if self.accepted else "REJECT"
        return {"file": self.name, "verdict": verdict, "findings": findings, "figures": self.figures}


class RunnerDied(RuntimeError):
    """The runner itself, not the code under test, ended: kaggle-environments is missing or broken."""


def _drop_override() -> None:
    """Makes root obey read-only folders as the judge's user must; no effect for other users."""
    if _PRCTL is not None:
        prctl_capbset_drop, cap_dac_override = 24, 1
        _PRCTL(prctl_capbset_drop, cap_dac_override, 0, 0, 0)


_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)  # Linux has it


class Runner:
    """A running ``runner.py``, a context manager. It serves any number of files, each job in a process of its own.

    Args:
        kaggle: a folder with another version of kaggle-environments.
    """

    def __init__(self, kaggle: Path | None = None):
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8"}
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in __exit__)
        self._process = subprocess.Popen(
            [sys.executable, "-IB", str(RUNNER), *([str(kaggle)] if kaggle else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=tempfile.gettempdir(),
            env=environment,
            preexec_fn=_drop_override,  # noqa: PLW1509 (it only makes one system call)
            text=True,
        )

    def __enter__(self) -> "Runner":
        return self

    @cached_property
    def hello(self) -> dict[str, Any]:
        """What it says once Kaggle's package is imported, which takes seconds: what is refused before need not wait."""
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            last = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
            raise RunnerDied(f"the runner for kaggle-environments ended: {''.join(last)}")
        return json.loads(line)

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self.hello
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return self._read()

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()


@contextlib.contextmanager
def stage(limits: Limits, runner: Runner) -> Iterator["Stage"]:
    """Folders as on the judge; all of it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="preflight-") as folder:
        root = Path(folder)
        for name in ("agent", "home", "elsewhere"):
            (root / name).mkdir()
        try:
            yield Stage(root, runner, limits)
        finally:
            for path in [root / "agent", *(root / "agent").rglob("*")]:
                if path.is_dir():
                    path.chmod(0o755)


@dataclass
class Stage:
    """Where a file is tried: ``root/agent`` read-only, ``root/home`` and ``root/elsewhere`` (the working directory)."""

    root: Path
    runner: Runner
    limits: Limits

    def seal(self) -> None:
        """Makes the agent's folder read-only."""
        for path in [*(self.root / "agent").rglob("*"), self.root / "agent"]:
            if not path.is_symlink():  # what it leads to gets its own turn, if it exists
                path.chmod(0o555 if path.is_dir() else 0o444)

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        common = {
            "limit": self.limits.first_move + PATIENCE,
            "memory": self.limits.memory + self.runner.hello["memory"],
            "folders": [str(self.root), str(RUNNER)],
            "home": str(self.root / "home"),
            "cwd": str(self.root / "elsewhere"),
        }
        return self.runner.run(common | job)

    def replies(self, file: Path, form: str, questions: list[Question], **options: Any) -> dict[str, Any]:
        asked = [question.as_json() for question in questions]
        return self.run({"job": "replies", "file": str(file), "form": form, "questions": asked} | options)

    def game(self, agents: list[Any], act_timeout: float, bank: float, **options: Any) -> dict[str, Any]:
        limit = 2 * self.limits.first_move + 2 * GAME_MOVES * act_timeout + bank + PATIENCE
        config = {"actTimeout": act_timeout}
        return self.run({"job": "game", "agents": agents, "config": config, "bank": bank, "limit": limit} | options)


def check(
    path: Path,
    runner: Runner,
    limits: Limits | None = None,
    slowdown: float | None = None,
    full: bool = False,
    extra: Callable[[Stage, Path, Report], None] | None = None,
) -> Report:
    """The pre-flight of a finished file, a .py or a .tar.gz.

    Args:
        limits: the judge's; the published ones if not given.
        slowdown: also measure with the processor restricted to 1/slowdown of one core.
        full: play the validation game at the judge's own clock, which takes minutes.
        extra: called as extra(stage, file, report) after the games: the builder's comparison.

    Raises:
        OSError: the file cannot be read.
        RunnerDied: kaggle-environments does not work here.
    """
    limits = limits or Limits()
    report = Report(path.name)
    content = path.read_bytes()
    with stage(limits, runner) as place:
        report.figures["kaggle_environments"] = runner.hello["kaggle"]
        main = _unpack(path.name, content, place.root / "agent", limits, report)
        if main is None or not _static_check(main.read_bytes(), main.name, report):
            return report
        place.seal()
        if not _check_replies(place, main, report):
            return report
        _check_games(place, main, report, full, is_archive=main.name == "main.py")
        if extra is not None:
            extra(place, main, report)
        if slowdown is not None:
            _check_slow(place, main, report, slowdown)
    return report


def _unpack(name: str, content: bytes, folder: Path, limits: Limits, report: Report) -> Path | None:
    """Lays the file out as Kaggle does and returns the Python file that is loaded."""
    report.figures["size"] = len(content)
    level = "reject" if len(content) > limits.size else "pass"
    report.add("size", level, f"{len(content):,} bytes of {limits.size:,} allowed")
    if content[:4] == b"PK\x03\x04" or name.endswith(".zip"):
        report.add("format", "reject", "Kaggle does not unpack a .zip: submit a .py or a .tar.gz")
        return None
    if content[:2] != b"\x1f\x8b":
        (folder / "submission.py").write_bytes(content)
        return folder / "submission.py"
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
            names = [member.name for member in tar.getmembers()]
            tar.extractall(folder, filter="data")
    except (tarfile.TarError, OSError, EOFError, zlib.error) as fault:
        report.add("format", "reject", f"the archive cannot be unpacked: {fault}")
        return None
    if not (folder / "main.py").is_file():
        found = next((n for n in names if PurePosixPath(n).name == "main.py"), None)
        where = f"it is at {found}" if found else f"it holds {names[:5]}"
        report.add("format", "reject", f"the archive has no main.py at its root ({where})")
        return None
    return folder / "main.py"


def _static_check(content: bytes, main_name: str, report: Report) -> bool:
    """Whether the text compiles as Kaggle reads it; says what stands at the top level."""
    faults = {
        content.startswith(b"\xef\xbb\xbf"): "begins with a byte order mark, which Kaggle's loader does not skip",
        b"\0" in content: "holds a NUL character",
    }
    for is_so, text in faults.items():
        if is_so:
            report.add("text", "reject", text)
            return False
    try:
        tree = ast.parse(content.decode("utf-8"))
        compile(content.decode("utf-8"), main_name, "exec", dont_inherit=True)  # finds more than the parser does
    except UnicodeDecodeError as fault:
        report.add("text", "reject", f"is not UTF-8: {fault}")
        return False
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        report.add("text", "reject", f"does not compile: {str(fault) or 'nested too deeply'}")
        return False
    report.add("text", "pass", "UTF-8, compiles")
    _warn_of_async(tree, report)
    return report.accepted


def first_bindings(tree: ast.Module) -> list[tuple[str, int, str]]:
    """(name, line, kind) in the order in which top-level names are first bound: the order of Kaggle's look-up."""
    found: dict[str, tuple[int, str]] = {}

    def bind(name: str, node: ast.stmt, kind: str) -> None:
        found.setdefault(name, (node.lineno, kind))

    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bind(node.name, node, "function")
        elif isinstance(node, ast.ClassDef):
            bind(node.name, node, "class")
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                bind(alias.asname or alias.name.split(".")[0], node, "import")
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                found.pop(target.id if isinstance(target, ast.Name) else "", None)
        else:
            stores = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            for name in stores:
                bind(name.id, node, "value")
    return [(name, line, kind) for name, (line, kind) in found.items()]


def _warn_of_async(tree: ast.Module, report: Report) -> None:
    last = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))][-1:]
    if last and isinstance(last[0], ast.AsyncFunctionDef):
        report.add("callable", "reject", f"{last[0].name} is async: Kaggle does not await it")


def _explain_callable(tree: ast.Module, result: dict[str, Any], report: Report) -> None:
    """Which callable Kaggle's loader took, and whether that can be what the author meant."""
    name, kind, count = result["name"], result["kind"], result["arguments"]
    bindings = {bound: (line, what) for bound, line, what in first_bindings(tree)}
    line = f", first bound on line {bindings[name][0]}" if name in bindings else ""
    text = f"Kaggle takes {name} ({kind}{line}), the last of all callables in the order of their first binding"
    report.figures["callable"] = {"name": name, "kind": kind, "arguments": count}
    if "agent" in bindings and name != "agent" and bindings["agent"][1] == "function":
        report.add("callable", "reject", f"{text}; agent, first bound on line {bindings['agent'][0]}, is not called")
    elif kind != "function":
        report.add("callable", "note", f"{text}; not a plain function: older versions of Kaggle's loader refuse it")
    else:
        report.add("callable", "pass", text)


def _stopped(answer: dict[str, Any], topic: str, report: Report, limits: Limits, stages: list[str]) -> bool:
    """Reports a job that gave no result; whether it was one."""
    result, at = answer["result"], answer["stage"]
    if at.startswith("question "):
        at = f"at {stages[int(at.split()[1])]!r}"
    if answer["ended"] == "timeout":
        report.add(topic, "reject", f"no answer within {limits.first_move:g} s ({at})")
    elif answer["ended"] == "memory":
        report.add("memory", "reject", f"more than {limits.memory / 2**20:.0f} MiB ({at})")
    elif answer["ended"] != "ok":
        report.add(topic, "reject", f"the process {answer['ended']} ({at}): {answer['tail'][-300:]}")
    elif "raised" in result:
        report.add(topic, "reject", f"{result['raised']} escapes ({at}): {result['text']}")
    else:
        return False
    _report_audit(answer, report)
    return True


def _report_audit(answer: dict[str, Any], report: Report) -> None:
    known = report.figures.setdefault("seen", [])
    for text in (answer["result"] or {}).get("audit", []):
        if text not in known:
            known.append(text)
            report.add("isolation", "reject", f"{text}, which the judge has not")


def _check_replies(place: Stage, main: Path, report: Report) -> bool:
    """Load by path and the hard questions, in a first fresh process. Whether it is worth going on."""
    limits = place.limits
    questions = hard_questions(limits.act_timeout, limits.bank)
    answer = place.replies(main, "path", questions, stop_after=ASK_SECONDS, at_least=3)
    report.figures["peak_memory"] = answer["peak"]
    if _stopped(
        answer, "load" if answer["stage"] == "load" else "replies", report, limits, [q.name for q in questions]
    ):
        return False
    result = answer["result"]
    _explain_callable(ast.parse(main.read_text(encoding="utf-8")), result, report)
    _report_audit(answer, report)
    grown = answer["peak"] - place.runner.hello["memory"]
    report.add(
        "memory",
        "pass",
        f"peak {answer['peak'] / 2**20:.0f} MiB, {max(0, grown) / 2**20:.0f} more than the empty judge",
    )
    _judge_replies(questions, result, report)
    _judge_clock(questions, result, limits, report)
    return report.accepted


def fault_of(question: Question, reply: dict[str, Any]) -> str:
    """What is wrong with a reply by Kaggle's rules; "" if nothing."""
    kind, column, text = reply["type"], reply["column"], reply["text"]
    if kind == "exception":
        return f"raises {text}"
    if kind == "NoneType":
        return "returns None, which Kaggle plays as column 0"
    if kind != "int":
        return f"returns {text}, a {kind}, where Kaggle wants an int"
    return "" if column in question.legal else f"returns {column}, not a legal column"


def _judge_replies(questions: list[Question], result: dict[str, Any], report: Report) -> None:
    """What was replied to what Kaggle asks today; then, as notes only, to what it may ask."""
    answered = list(zip(questions, result["replies"], strict=False))
    asked = [(question, reply) for question, reply in answered if not question.is_optional]
    faults = _faults(asked)
    for fault, names in faults.items():
        report.add("replies", "reject", f"{fault} ({len(names)} of {len(asked)}: {'; '.join(names[:3])})")
    if not faults:
        wanted = sum(not question.is_optional for question in questions)
        cut = "" if len(asked) == wanted else f" of {wanted}: {ASK_SECONDS:g} s were over"
        report.add("replies", "pass", f"a legal int to each of {len(asked)} hard positions{cut}")
    _judge_guard([result["load_stderr"], *(reply["stderr"] for _, reply in asked)], report)
    missed = [q.name for q, reply in asked if q.sound is not None and reply["column"] not in q.sound]
    if missed and not faults:
        report.add("play", "note", f"misses {'; '.join(missed)}")
    optional = [(question, reply) for question, reply in answered if question.is_optional]
    guarded = [(question.name, reply["stderr"]) for question, reply in optional if GUARD_MARK in reply["stderr"]]
    for fault, names in _faults(optional).items():
        report.add("not asked today", "note", f"{fault} on {_first(names)}")
    if guarded:
        where = _first([name for name, _ in guarded])
        report.add("not asked today", "note", f"the guard answers on {where}: {guarded[0][1]}")


def _first(names: list[str]) -> str:
    """Three names, and how many more there are."""
    return "; ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _faults(answered: list[tuple[Question, dict[str, Any]]]) -> dict[str, list[str]]:
    """fault -> names of the questions that brought it about."""
    faults: dict[str, list[str]] = {}
    for question, reply in answered:
        if fault := fault_of(question, reply):
            faults.setdefault(fault, []).append(question.name)
    return faults


def _judge_guard(texts: list[str], report: Report) -> None:
    """A submission of ours that lives by its guard plays on, but is not what its author meant."""
    lines = [line for text in texts for line in text.splitlines() if GUARD_MARK in line]
    if lines:
        report.add("guard", "reject", f"the agent itself failed, the guard answered: {lines[0][:400]}")


def _judge_clock(questions: list[Question], result: dict[str, Any], limits: Limits, report: Report) -> None:
    """Load, first move, slowest move on 7x6, and what a long game would take from the bank."""
    load, seconds = result["load_seconds"], [reply["seconds"] for reply in result["replies"]]
    first = load + seconds[0]
    later = seconds[1]
    used = max(0.0, first - limits.act_timeout) + (GAME_MOVES - 1) * max(0.0, later - limits.act_timeout)
    slowest = max(s for q, s in zip(questions, seconds, strict=False) if q.is_standard)
    report.figures |= {"load_seconds": load, "first_move_seconds": first, "slowest_move_seconds": slowest}
    report.figures["projected_bank_seconds"] = used
    text = (
        f"load {load:.2f} s, with the first move {first:.2f} s of {limits.first_move:g} s, slowest move {slowest:.2f} s"
    )
    report.add("first move", "reject" if first > limits.first_move else "pass", text)
    text = f"a game of {GAME_MOVES} moves at this pace takes {used:.1f} s of the {limits.bank:g} s bank"
    report.add("bank", "reject" if used > limits.bank else "pass", text)


def _check_games(place: Stage, main: Path, report: Report, full: bool, is_archive: bool) -> None:
    """The validation game, file against itself, in Kaggle's environment: by path in seat 1, as source text in seat 2.

    A file that fails only as text is noted, not rejected: Kaggle's judge loads by path.
    """
    limits = place.limits
    act, bank = (QUICK_ACT, min(QUICK_BANK, limits.bank))
    if full or report.figures["first_move_seconds"] > bank / 2:
        act, bank = limits.act_timeout, limits.bank
    by_path, as_text = ["path", str(main)], ["raw", str(main)]
    clock = "the judge's clock" if act == limits.act_timeout else f"limits of {act:g} s a move and {bank:g} s a game"
    if not is_archive:
        mixed = Report(report.name)
        _play(place, f"against itself, by path and as source text, {clock}", [by_path, as_text], (act, bank), mixed)
        if mixed.accepted:
            report.findings += mixed.findings
            report.figures |= mixed.figures
            return
    _play(place, f"against itself, by path, {clock}", [by_path, by_path], (act, bank), report)
    if not is_archive and report.accepted:
        report.add("game", "note", f"works by path, as Kaggle loads it, but not as source text: {mixed.reasons[0]}")


def _play(place: Stage, name: str, agents: list[Any], clock: tuple[float, float], report: Report) -> None:
    answer = place.game(agents, *clock)
    if _stopped(answer, "game", report, place.limits, []):
        return
    _report_audit(answer, report)
    result = answer["result"]
    if result["statuses"] != ["DONE", "DONE"] or None in result["rewards"]:
        last = " ".join(result["stderr"]).strip().splitlines()[-1:]
        report.add("game", "reject", f"{name}: {result['statuses']}, rewards {result['rewards']} {''.join(last)[:300]}")
        return
    slowest = max(max(times[1:], default=0.0) for times in result["durations"])
    firsts = " and ".join(f"{times[0]:.2f} s" for times in result["durations"] if times)
    text = (
        f"{name}: DONE in {result['plies']} plies, first moves with load {firsts}, slowest later move {slowest:.2f} s"
    )
    report.add("game", "pass", f"{text}, {min(result['banks']):.1f} s of the bank left")
    report.figures["banks_left"] = result["banks"]
    _judge_guard(result["stderr"], report)


def _check_slow(place: Stage, main: Path, report: Report, slowdown: float) -> None:
    """The clock once more, with the processor really restricted."""
    questions = hard_questions(place.limits.act_timeout, place.limits.bank)[:2]
    with Restriction(1 / slowdown) as restriction:
        spin = place.run({"job": "spin", "seconds": 1.5} | restriction.job)
        answer = place.replies(main, "path", questions, **restriction.job)
    share = spin["result"]["share"]
    report.figures["slow"] = {"wanted_share": 1 / slowdown, "achieved_share": share, "by": restriction.kind}
    report.add(
        "slow", "note", f"one core, {share:.0%} of it measured, {1 / slowdown:.0%} wanted, by {restriction.kind}"
    )
    if _stopped(answer, "slow", report, place.limits, [question.name for question in questions]):
        return
    slow = Report(report.name)
    _judge_clock(questions, answer["result"], place.limits, slow)
    _judge_replies(questions, answer["result"], slow)
    report.figures["slow"] |= slow.figures
    report.findings += [Finding("slow", finding.level, finding.text) for finding in slow.findings]
