"""From an agent to an accepted submission: inline, embed, pre-flight, compare with the source, or write nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from bundler.embed import archive, submission_text
from bundler.inline import PROJECT, Inlined, import_name, inline
from bundler.preflight import RUNNER, Limits, Report, Runner, Stage, check
from bundler.questions import NODE_BUDGET, Question, sample
from connectx.geometry import STANDARD
from connectx.weights import reduce, reduction_error
from console.files import replacing

POSITIONS = 500
PUBLISHED = Limits()
COMPARE_SECONDS = 40.0  # after this many no further position is asked
SIGMAS = 3.0  # a faithful build of an agent that plays at random is refused once in 500 builds at most
NODE_CLOCK = f"moves are compared at {NODE_BUDGET} nodes each, without a clock; budget.is_late(nodes) counts them, too"


class NotAccepted(Exception):
    """The submission was made and refused by the pre-flight or the comparison."""

    def __init__(self, report: Report):
        super().__init__("; ".join(report.reasons))
        self.report = report


@dataclass(frozen=True)
class Options:
    """How to build.

    form: "py", or "tar.gz" with main.py at its root
    dtype: "float16" or "int8" for the floating-point arrays of embedded .npz files and weight containers
    extra_packages: third-party packages that may be imported besides numpy, numba and torch
    positions: how many positions the built file and its source are compared on
    """

    form: str = "py"
    dtype: str | None = None
    extra_packages: frozenset[str] = frozenset()
    positions: int = POSITIONS
    slowdown: float | None = None
    full: bool = False
    limits: Limits = PUBLISHED


def render(inlined: Inlined, dtype: str | None) -> tuple[str, list[str]]:
    """The submission's text, and a line on each data file whose precision was reduced.

    Raises:
        OSError: a data file cannot be read.
        ValueError: a data file holds values that ``dtype`` cannot stand for.
    """
    contents = {path: file.read_bytes() for path, file in inlined.data.items()}
    reduced, lines, notes = {}, [], {}
    for path, content in sorted(contents.items()) if dtype else []:
        smaller = reduce(content, dtype or "")
        if smaller is None:
            lines.append(f"{path}: no floating-point arrays that could be reduced, embedded as it is")
            continue
        largest, relative = reduction_error(content, smaller)
        reduced[path], notes[path] = smaller, f" as {dtype}"
        size = f"{len(content):,} to {len(smaller):,} bytes before compression"
        lines.append(f"{path} as {dtype}: {size}, largest error {largest:.3g}, {relative:.2%} of the weights' size")
    return submission_text(inlined, contents, reduced, notes), lines


def build(
    agent: Path, output: Path, options: Options, runner: Runner, tell: Callable[[str], None] = lambda text: None
) -> Report:
    """Writes ``output`` if, and only if, everything accepts it.

    Args:
        tell: called with a line at each stage.

    Raises:
        bundler.inline.Refused: with file and line of what cannot be inlined.
        NotAccepted: with the report.
        OSError, ValueError: files that cannot be read, or data that cannot be reduced.
    """
    tell(f"inlining {agent}")
    inlined = inline(agent, options.extra_packages)
    text, reductions = render(inlined, options.dtype)
    content = text.encode("utf-8")
    tell(f"checking {len(content):,} bytes, {len(inlined.sources)} modules")

    def compare(stage: Stage, file: Path, report: Report) -> None:
        if report.accepted:
            seconds = 2 * COMPARE_SECONDS
            tell(f"comparing with the source on {options.positions} positions, for at most {seconds:g} s")
            compare_with_source(stage, file, inlined, options, report)

    with replacing(output) as partial:
        partial.write_bytes(content if options.form == "py" else archive(content))
        report = check(partial, runner, options.limits, options.slowdown, options.full, compare)
        report.name = output.name
        for line in reductions:
            report.add("data", "note", line)
        if not report.accepted:
            raise NotAccepted(report)
    return report


def _source_job(inlined: Inlined) -> dict[str, Any]:
    root, module = import_name(inlined.agent_path)
    folder = inlined.agent_path.resolve().parent
    paths = list(dict.fromkeys([str(root), str(folder), str(PROJECT)]))
    function = inlined.entry[1]
    return {"module": module, "function": function, "folder": str(folder), "paths": paths}


def _columns(answer: dict[str, Any]) -> list[int | None]:
    return [reply["column"] for reply in answer["result"]["replies"]]


def compare_with_source(stage: Stage, file: Path, inlined: Inlined, options: Options, report: Report) -> None:
    """The built file and its source must choose alike: same positions, same seed at each, same node budget.

    Positions on which the source chooses no legal column are left out, as the built file's guard answers there; others
    on 7x6 take their places. A source that disagrees with itself is asked twice (see ``_judge_difference``).
    """
    source = _source_job(inlined) | {"stop_after": COMPARE_SECONDS}
    source["folders"] = [str(stage.root), str(RUNNER), *source["paths"]]
    asked: list[Question] = []
    wanted: list[int | None] = []
    for questions in (sample(options.positions), sample(options.positions, 8, (STANDARD,))):
        missing = options.positions - len(asked)
        answer = stage.replies(inlined.agent_path, "source", questions[:missing], **source) if missing else None
        if answer is None or _failed(answer, "the source agent", questions, report):
            break
        replied = list(zip(questions, _columns(answer), strict=False))
        asked += [question for question, column in replied if column in question.legal]
        wanted += [column for question, column in replied if column in question.legal]
        if len(replied) < min(missing, len(questions)):
            break  # COMPARE_SECONDS are over
    if not report.accepted:
        return
    built = stage.replies(file, "path", asked)
    if _failed(built, "the built file", asked, report):
        return
    differ = [i for i, column in enumerate(_columns(built)) if column != wanted[i]]
    report.figures |= {"compared_positions": len(asked), "different_moves": len(differ)}
    cut = (
        ""
        if len(asked) == options.positions
        else f", all that the source answered of {options.positions} in {COMPARE_SECONDS:g} s"
    )
    if not differ:
        report.add("same moves", "pass", f"the built file and its source agree on {len(asked)} positions{cut}")
    elif options.dtype:
        share = f"{len(differ)} of {len(asked)} moves ({len(differ) / len(asked):.1%}) change with {options.dtype}{cut}"
        report.add("same moves", "note", share)
    else:
        again = stage.replies(inlined.agent_path, "source", asked, **source)
        _judge_difference(asked, differ, wanted, again, report)


def _judge_difference(
    asked: list[Question], differ: list[int], wanted: list[int | None], again: dict[str, Any], report: Report
) -> None:
    """Whether moves differ because of the build, or because the source never plays the same twice.

    A faithful build is to the source's first run what its second is: of the positions on which one of the two differs
    from the first, but not both, it has about half. More by ``SIGMAS`` standard deviations are the build's doing.
    """
    replies = _columns(again) if again["result"] and "replies" in again["result"] else []
    fickle = {i for i, (a, b) in enumerate(zip(wanted, replies, strict=False)) if a != b}
    alone = [i for i in differ if i not in fickle and i < len(replies)]
    excused = len(fickle.difference(differ))
    if fickle and len(alone) - excused <= SIGMAS * sqrt(len(alone) + excused):
        text = f"cannot be compared: the source disagrees with itself on {len(fickle)} of {len(replies)} positions"
        report.add("same moves", "note", f"{text}, seeded alike: its clock or a randomness of its own decides")
    else:
        where = asked[(alone or differ)[0]]
        shape = f"{where.config['rows']} x {where.config['columns']}, after {where.obs['step']} plies"
        text = f"the built file differs from its source on {len(differ)} of {len(wanted)} positions"
        besides = f", on {len(alone)} of them where the source agrees with itself" if fickle else ""
        report.add("same moves", "reject", f"{text}{besides}, first on {where.name} ({shape})")


def _failed(answer: dict[str, Any], who: str, questions: list[Question], report: Report) -> bool:
    """Reports a comparison that did not come about."""
    result = answer["result"]
    if answer["ended"] != "ok":
        why = f": {NODE_CLOCK}" if answer["ended"] == "timeout" else ""
        report.add("same moves", "reject", f"{who} gave no replies: {answer['ended']} ({answer['stage']}){why}")
    elif "raised" in result:
        report.add("same moves", "reject", f"{who} does not load: {result['raised']}: {result['text']}")
    elif bad := [
        r for q, r in zip(questions, result["replies"], strict=False) if q.is_standard and r["column"] is None
    ]:
        report.add("same moves", "reject", f"{who} replies {bad[0]['text']} ({bad[0]['type']})")
    else:
        return False
    return True
