"""From an agent to an accepted submission: inline, embed, pre-flight, compare with the source; or nothing is written."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bundler.embed import archive, submission_text
from bundler.inline import PROJECT, Inlined, import_name, inline
from bundler.preflight import Limits, Report, Stage, check
from bundler.questions import Question, sample
from connectx.weights import reduce, reduction_error

POSITIONS = 500
PUBLISHED = Limits()
COMPARE_SECONDS = 20.0  # after this many no further position is asked


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
    kaggle: Path | None = None
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
    inlined = _with_weights(inlined) if reduced else inlined
    return submission_text(inlined, contents, reduced, notes), lines


def _with_weights(inlined: Inlined) -> Inlined:
    """Reduced data is restored by connectx.weights, which whoever calls read_data imports anyway."""
    assert "connectx/weights.py" in inlined.sources
    return inlined


def build(agent: Path, output: Path, options: Options, tell: Callable[[str], None] = lambda text: None) -> Report:
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
    partial = output.with_name(f".{output.name}.partial")
    partial.write_bytes(content if options.form == "py" else archive(content))
    tell(f"checking {len(content):,} bytes, {len(inlined.sources)} modules")

    def compare(stage: Stage, file: Path, report: Report) -> None:
        if report.accepted:
            tell(f"comparing with the source on {options.positions} positions")
            compare_with_source(stage, file, inlined, options, report)

    try:
        report = check(partial, options.limits, options.slowdown, options.full, options.kaggle, compare)
        report.name = output.name
        for line in reductions:
            report.add("data", "note", line)
        if not report.accepted:
            raise NotAccepted(report)
        os.replace(partial, output)
    finally:
        partial.unlink(missing_ok=True)
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
    """The built file and its source must choose alike: same positions, same seeds, same node budget."""
    questions = sample(options.positions)
    source = _source_job(inlined)
    folders = [str(stage.root), *source["paths"]]

    def ask_source(asked: list[Question]) -> dict[str, Any]:
        options = source | {"folders": folders, "stop_after": COMPARE_SECONDS}
        return stage.replies(inlined.agent_path, "source", asked, **options)

    ours = ask_source(questions)
    if _failed(ours, "the source agent", report):
        return
    asked = questions[: len(ours["result"]["replies"])]
    built = stage.replies(file, "path", asked)
    if _failed(built, "the built file", report):
        return
    differ = [i for i, (a, b) in enumerate(zip(_columns(ours), _columns(built), strict=False)) if a != b]
    report.figures["compared_positions"] = len(asked)
    report.figures["different_moves"] = len(differ)
    cut = (
        ""
        if len(asked) == len(questions)
        else f" ({len(questions)} wanted, but it thinks {COMPARE_SECONDS:g} s on these)"
    )
    if not differ:
        report.add("same moves", "pass", f"the built file and its source agree on all {len(asked)} positions{cut}")
        return
    if options.dtype:
        share = f"{len(differ)} of {len(asked)} moves change with {options.dtype} ({len(differ) / len(asked):.1%}){cut}"
        report.add("same moves", "note", share)
        return
    again = ask_source(asked)
    fickle = sum(a != b for a, b in zip(_columns(ours), _columns(again), strict=False)) if again["result"] else 0
    where = asked[differ[0]]
    if fickle:
        text = (
            f"cannot be compared: the source disagrees with itself on {fickle} of {len(asked)} positions, though seeded"
        )
        report.add("same moves", "note", f"{text} alike (a clock or its own randomness decides)")
    else:
        text = f"the built file differs from its source on {len(differ)} of {len(asked)} positions, first {where.name}"
        report.add("same moves", "reject", f"{text} ({where.config['rows']} x {where.config['columns']})")


def _failed(answer: dict[str, Any], who: str, report: Report) -> bool:
    """Reports a comparison that did not come about."""
    result = answer["result"]
    if answer["ended"] != "ok":
        report.add("same moves", "reject", f"{who} gave no replies: {answer['ended']} ({answer['stage']})")
    elif "raised" in result:
        report.add("same moves", "reject", f"{who} does not load: {result['raised']}: {result['text']}")
    elif bad := [reply for reply in result["replies"] if reply["column"] is None]:
        report.add("same moves", "reject", f"{who} replies {bad[0]['text']} ({bad[0]['type']})")
    else:
        return False
    return True
