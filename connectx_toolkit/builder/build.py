"""Builds a submission: inline, embed, pre-flight, compare with the source. If one of them fails, nothing is written.

The text has readable sources, data as text with checksums, the guard, and at the end `agent`. The same inputs give the
same bytes: there are no dates and no paths of this machine, and everything is sorted.
"""

import base64
import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from connectx import __version__
from connectx.machine_code import EMBEDDED
from connectx.machine_code import packed as packed_parts
from connectx.position import STANDARD
from connectx.weights import reduce, reduction_error, restored
from connectx_toolkit.builder.comparison import ROUNDS, drawn
from connectx_toolkit.builder.notebook.written import placed
from connectx_toolkit.builder.preflight.check import check
from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.builder.preflight.stage import NODE_BUDGET, Question, Runner, Stage, sample, stage
from connectx_toolkit.builder.source.data_files import listed
from connectx_toolkit.builder.source.inline import Inlined, Refused
from connectx_toolkit.builder.source.refusals import TORCH_FILES, adopt_command
from connectx_toolkit.kaggle.rules import Limits
from connectx_toolkit.kaggle.sources import import_name
from connectx_toolkit.system.console import as_option, progress
from connectx_toolkit.system.files import ROOT, replacing, version_of

IMPORTER, GUARD = (Path(__file__).parent / "embedded" / name for name in ("importer.py", "guard.py"))
HEADER = "# ConnectX submission:"  # how every built file begins
LINE = 116  # characters of base64 per line: editors cannot handle lines of megabytes

_TAIL = """
_importer, _guard = type(_time)("submission_importer"), type(_time)("submission_guard")
exec(compile(IMPORTER[1:], "submission_importer.py", "exec", dont_inherit=True), _importer.__dict__)
exec(compile(GUARD[1:], "submission_guard.py", "exec", dont_inherit=True), _guard.__dict__)
_folder = _importer.folder_of(_importer.sys._getframe().f_code.co_filename)
_submission = _guard.Submission(_importer.Modules(SOURCES, DATA, _folder), {entry!r}, _STARTED)


def agent(obs, config):
    return _submission.answer(obs, config)
"""


def quoted(source: str) -> str:
    """A Python literal of a line feed and the source, raw unless the quotes in the source prevent that."""
    for quotes in ("'''", '"""'):
        if quotes not in source:
            return f"r{quotes}\n{source}{quotes}"
    escaped = source.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    return f"'''\n{escaped}'''"


def packed(content: bytes, is_reduced: bool = False) -> tuple[str, bool, str]:
    """The form that the importer's ``read_data`` reads: (sha256 of the zlib stream, whether reduced, its base64)."""
    stream = zlib.compress(content, 9)
    return hashlib.sha256(stream).hexdigest(), is_reduced, base64.b64encode(stream).decode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _header(inlined: Inlined, contents: Mapping[str, bytes], notes: Mapping[str, str]) -> str:
    module, function = inlined.entry
    lines = [
        f"{HEADER} {function} of {module}".removeprefix("# "),
        f"built by connectx {__version__} with build_submission.py: change the sources, not this file",
        "",
        "sha256 (first 16 digits) of the modules as embedded below:",
        *(f"  {_digest(text.encode())}  {path}" for path, text in sorted(inlined.sources.items())),
        f"  {_digest(IMPORTER.read_bytes())}  the importer",
        f"  {_digest(GUARD.read_bytes())}  the guard",
    ]
    if contents:
        lines += ["and of the data files:"]
        lines += [f"  {_digest(data)}  {path}{notes.get(path, '')}" for path, data in sorted(contents.items())]
    if inlined.files:
        lines += ["and of the files beside it in the archive:"]
        lines += [f"  {_digest(file.read_bytes())}  {path}" for path, (file, _) in sorted(inlined.files.items())]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def submission_text(
    inlined: Inlined, contents: Mapping[str, bytes], reduced: Mapping[str, bytes], notes: Mapping[str, str]
) -> str:
    """The one file.

    Args:
        contents: embedded path -> bytes of the data file.
        reduced: embedded path -> bytes from ``connectx.weights.reduce``, for files embedded in lower precision.
        notes: embedded path -> what the header says after the file's name.
    """
    parts = [_header(inlined, contents, notes), "import time as _time\n\n_STARTED = _time.perf_counter()\n"]
    parts.append("\nSOURCES = {}\n")
    parts += [f"\nSOURCES[{path!r}] = {quoted(text)}\n" for path, text in sorted(inlined.sources.items())]
    parts.append("\nDATA = {}\n")
    for path, content in sorted(contents.items()):
        digest, is_reduced, text = packed(reduced.get(path, content), path in reduced)
        wrapped = "\n".join(text[start : start + LINE] for start in range(0, len(text), LINE))
        parts.append(f"DATA[{path!r}] = ({digest!r}, {is_reduced}, r'''\n{wrapped}\n''')\n")
    for name, source in (("IMPORTER", IMPORTER), ("GUARD", GUARD)):
        parts.append(f"\n{name} = {quoted(source.read_text(encoding='utf-8'))}\n")
    return "".join([*parts, _TAIL.format(entry=inlined.entry)])


def archive(main: bytes, files: Mapping[str, bytes]) -> bytes:
    """A .tar.gz with ``main`` as main.py at its root, and ``files``, given by their paths in it.

    It has no dates and no owners, so that the same input gives the same bytes.
    """
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in [("main.py", main), *sorted(files.items())]:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o644
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), 9, mtime=0)


# Where no move differs, fewer than 3 of N would: below 0.6% for 500 positions (the rule of three, at 95%), and 3% for
# 100. A fault of a build, such as data that is not found, changes more than that. So slow agents are asked ENOUGH.
POSITIONS, ENOUGH = 500, 100
USUAL_SECONDS = 10.0  # that usual moves on the positions may take, once ENOUGH are asked
COMPARE_SECONDS = 40.0  # of each side; after this time no further position is asked
COMPILE_SECONDS = 300.0  # that the kernels may take; numba needs some 5
MACHINE_CODE = f"connectx/{EMBEDDED}"
ABOUT_CODE = f""": machine code of the modules' kernels for x86-64, by numba {version_of("numba")}
#     and LLVM, from the sources in this file; used if it passes a test when the file is loaded, else numba compiles.
#     Built with --no-machine-code, the file has none."""
PUBLISHED = Limits()
LISTED = 20  # files that an error names
TAKES = "about a minute, more for what loads or moves slowly or while other programs run"
CLOCKED = 0.05  # seconds a move: from there on the clock may decide how far an agent searches
NODE_CLOCK = f"moves are compared at {NODE_BUDGET} nodes each, without a clock; budget.is_late(nodes) counts them, too"


Asking = partial[Any]  # asks the source, in a process of its own


class NotAccepted(ValueError):
    """The submission was built, but the pre-flight or the comparison refused it."""

    def __init__(self, report: Report):
        super().__init__("; ".join([f"{report.verdict} {report.name}", *(report.reasons or report.unknown)]))
        self.report = report


@dataclass(frozen=True)
class Options:
    """Options of a build.

    dtype: "float16" or "int8", for the floating-point arrays of embedded .npz files and weight containers
    positions: on how many positions at most the built file is compared with its source
    """

    dtype: str | None = None
    positions: int = POSITIONS
    slowdown: float | None = None
    full: bool = False
    limits: Limits = PUBLISHED
    machine_code: bool = True


def reduced_data(inlined: Inlined, dtype: str | None) -> tuple[dict[str, bytes], list[str]]:
    """Embedded path -> what ``connectx.weights.reduce`` makes of it, and with a ``dtype`` a line about each data file.

    A file that would grow stays as it is, and so does one without floating-point arrays.

    Raises:
        OSError: a data file cannot be read.
        ValueError: a data file has values that ``dtype`` cannot represent.
    """
    reduced, lines = dict[str, bytes](), list[str]()
    for path, file in sorted(inlined.data.items()) if dtype else ():
        content = file.read_bytes()
        smaller = reduce(content, dtype or "")
        if smaller is None:
            lines.append(f"{path}: no floating-point arrays that could be reduced, embedded as it is")
            continue
        before, after = (len(packed(each)[2]) for each in (content, smaller))
        if after >= before:
            size = f"{after:,} bytes of the submission, where it takes {before:,}"
            lines.append(f"{path}: as {dtype} it would take {size}: embedded as it is")
            continue
        largest, relative = reduction_error(content, smaller)
        reduced[path] = smaller
        size = f"{before:,} to {after:,} bytes of the submission"
        lines.append(f"{path} as {dtype}: {size}, largest error {largest:.3g}, {relative:.2%} of the weights' size")
    return reduced, lines


def render(inlined: Inlined, dtype: str | None, code: bytes = b"") -> tuple[str, list[str]]:
    """The submission's text, and the lines of ``reduced_data``, which also says what is raised.

    Args:
        code: machine code of kernels, if there is any.
    """
    contents = {path: file.read_bytes() for path, file in inlined.data.items()} | ({MACHINE_CODE: code} if code else {})
    reduced, lines = reduced_data(inlined, dtype)
    notes = dict.fromkeys(reduced, f" as {dtype}") | {MACHINE_CODE: ABOUT_CODE}
    return submission_text(inlined, contents, reduced, notes), lines


def submission_bytes(inlined: Inlined, output: Path, options: Options, code: bytes = b"") -> tuple[bytes, list[str]]:
    """The bytes of the submission, an archive if ``output`` ends in .tar.gz, and lines about its data.

    Raises:
        Refused: the agent names files beside it, and ``output`` is a single .py.
        OSError, ValueError: see ``reduced_data``; or the files are larger than the judge's limit.
    """
    sizes = {path: file.stat().st_size for path, (file, _) in inlined.files.items()}
    packed = f"{sum(sizes.values()):,} bytes in {len(sizes)} files beside the agent: "
    if sum(sizes.values()) > options.limits.size:
        why = f"the judge allows {options.limits.size:,} bytes: move away what it does not open"
        raise ValueError(f"{why}; {packed}{listed(sizes, LISTED)}")
    packed += listed(sizes)
    text, lines = render(inlined, options.dtype, code)
    if len(text) > options.limits.size and inlined.data and not output.name.endswith(".tar.gz"):
        cure = 'as text, data takes a third more: open it as Path(__file__).parent / "name", and build a .tar.gz'
        raise ValueError(f"{len(text):,} bytes, and the judge allows {options.limits.size:,}; {cure}")
    if output.name.endswith(".tar.gz"):
        if sizes:
            as_is = f"; {as_option('dtype', options.dtype)} changes only embedded data" if options.dtype else ""
            lines.append(f"the archive holds main.py and {packed}{as_is}")
        return archive(text.encode(), {path: file.read_bytes() for path, (file, _) in inlined.files.items()}), lines
    if inlined.files:
        cure = 'build an archive (.tar.gz), or read it by connectx.weights.read_data("name"), which embeds it'
        file, place = next(iter(inlined.files.values()))
        if file.suffix in TORCH_FILES:
            cure += f", or `{adopt_command(file.name, inlined.agent_path)}`"
        raise Refused(
            [inlined.placed(place)._replace(reason=f"{place.reason}, which a single .py cannot hold: {cure}; {packed}")]
        )
    return text.encode(), lines


def build(
    inlined: Inlined,
    output: Path,
    options: Options,
    runner: Runner,
    tell: Callable[[str], None] = lambda text: None,
    prove: Callable[[Stage, dict[str, Any], Report], None] | None = None,
) -> Report:
    """Writes ``output``, a .py or a .tar.gz by its name, if and only if the pre-flight and the comparison accept it.

    Args:
        tell: called with a line at each stage.
        prove: called first, with what the stage needs to load the source; it may reject that.

    Raises:
        builder.source.refusals.Refused: the agent names files beside it, which a .py cannot hold; with file and line.
        NotAccepted: it was refused; with the report.
        OSError, ValueError: a file cannot be read, or data cannot be reduced.
    """
    proved = Report(output.name)
    if prove is not None:
        tell("comparing the function with the file that was written of it")
        with stage(options.limits, runner, output.name) as place:
            prove(place, loading(place, inlined), proved)
        if not proved.accepted:
            raise NotAccepted(proved)
    code, notes = machine_code(inlined, runner, options, tell)
    content, lines = submission_bytes(inlined, output, options, code)
    parts = f"{len(content):,} bytes, {len(inlined.sources)} modules, {len(inlined.files)} files beside them"
    tell(f"checking {parts}: {TAKES}")

    def compare(stage: Stage, file: Path, report: Report) -> None:
        if report.accepted:
            most = f"{options.positions} positions, for at most {2 * COMPARE_SECONDS:g} s on an idle machine"
            tell(f"comparing with the source on up to {most}; {COMPARE_SECONDS:g} s more if moves differ by the clock")
            compare_with_source(stage, file, inlined, options, bool(code), report)

    with replacing(output) as draft:
        draft.write_bytes(content)
        report = check(draft, runner, options.limits, options.slowdown, options.full, compare)
        report.name = output.name
        report.findings[:0] = proved.findings
        for line in lines:
            report.add("data", "note", line)
        for topic, lines in (("source", inlined.notes), ("machine code", notes)):
            for line in lines:
                report.add(topic, "note", line)
        report.findings = [finding._replace(text=placed(finding.text, inlined.places)) for finding in report.findings]
        if not report.accepted:
            raise NotAccepted(report)
    return report


def _source_job(inlined: Inlined) -> dict[str, Any]:
    top, _ = import_name(inlined.agent_path)
    folder = inlined.agent_path.resolve().parent
    paths = list(dict.fromkeys(map(str, (folder, top, inlined.root or folder, *inlined.folders, ROOT))))
    files = {name: str(file) for name, (file, _) in inlined.files.items()}
    return {
        "function": inlined.entry[1],
        "paths": paths,
        "files": files,
        "stop_after": COMPARE_SECONDS,
        "enough": (ENOUGH, USUAL_SECONDS),
    }


def loading(stage: Stage, inlined: Inlined) -> dict[str, Any]:
    """What the stage needs to load the source."""
    source = _source_job(inlined)
    return source | {"folders": [str(stage.root), *source["paths"]]}


def machine_code(
    inlined: Inlined, runner: Runner, options: Options, tell: Callable[[str], None]
) -> tuple[bytes, list[str]]:
    """Machine code of the kernels that the agent prepares, b"" if there is none; why there is none where it should."""
    if not options.machine_code or "connectx/machine_code.py" not in inlined.sources:
        return b"", []
    tell("compiling its kernels for the processors that Kaggle may have")
    job = _source_job(inlined) | {"job": "kernels", "form": "source", "file": str(inlined.agent_path.resolve())}
    with stage(options.limits, runner, "main.py") as place:
        answer = place.run(job | {"limit": COMPILE_SECONDS}, "compiling")
    result = answer["result"] or {}
    if answer["ended"] != "ok" or "raised" in result:
        why = result.get("text", answer["ended"])
        return b"", [f"there is none ({why}): numba compiles the kernels at every load"]
    parts = {name: base64.b64decode(text) for name, text in sorted(result["parts"].items())}
    return packed_parts(parts) if parts else b"", []


def compare_with_source(
    stage: Stage, file: Path, inlined: Inlined, options: Options, has_code: bool, report: Report
) -> None:
    """The built file and its source must choose the same moves: same positions, same seed for each, same node budget.

    Positions in which the source chooses no legal column are replaced by others on 7x6, because the built file's guard
    answers there. If moves differ and data was rounded, the source is asked again with its data rounded likewise. If
    they differ still, both are asked there again (see ``_judge_difference``). numba compiles the source's kernels, so
    that machine code in the file (``has_code``) is compared with what it stands for.
    """
    source, agent = loading(stage, inlined), inlined.agent_path.resolve()
    with progress(2 * options.positions, "move", "comparing") as bar:
        theirs: Asking = partial(Stage.replies, stage, agent, "source", bar=bar, **source)
        loaded, asked, is_cut = _ask_source(theirs, options.positions, report)
        if not report.accepted:
            return
        bar.total = bar.n + len(asked)
        questions = [question for question, _ in asked]
        built = stage.replies(file, "path", questions, bar=bar)
        if _failed(built, "the built file", report):
            return
        columns = [reply["column"] for reply in built["result"]["replies"]]
        differ = _different(asked, columns)
        report.figures |= {"compared_positions": len(asked), "different_moves": len(differ)}
        cut = f", fewer than {options.positions} because its moves take long" if is_cut else ""
        who = "its source"
        if differ and (reduced := reduced_data(inlined, options.dtype)[0]):
            share = f"{len(differ)} of {len(asked)} moves ({len(differ) / len(asked):.1%}) change with {options.dtype}"
            report.add("data", "note", share)
            who = f"its source with weights as {options.dtype}"
            theirs.keywords["instead"] = _rounded(inlined, reduced, stage.root / "rounded")
            bar.total += len(asked)
            answer = theirs(questions)
            if _failed(answer, who, report):
                return
            replied = zip(questions, columns, answer["result"]["replies"], strict=False)
            kept = [
                (question, column, reply) for question, column, reply in replied if reply["column"] in question.legal
            ]
            columns = [column for _, column, _ in kept]
            asked = [(question, reply) for question, _, reply in kept]
            differ = _different(asked, columns)
        if not asked:
            report.add("same moves", "reject", f"{who} answers no position")
        elif differ:
            _judge_difference(stage, file, theirs, list(zip(asked, columns, strict=True)), who, report)
        else:
            how = f" at {NODE_BUDGET} nodes a move" if has_node_budget(inlined) else _by_clock(asked)
            report.add("same moves", "pass", f"the built file and {who} agree on {len(asked)} positions{how}{cut}")
    if has_code:
        said = "".join([built["result"]["load_stderr"], *(reply["stderr"] for reply in built["result"]["replies"])])
        is_used = "machine code is not usable" not in said
        times = (
            f"loads in {built['result']['load_seconds']:.2f} s, and its source, which numba compiles, in {loaded:.2f} s"
        )
        how = "used here: the built file" if is_used else "not usable here: the built file"
        report.add("machine code", "pass" if is_used else "note", f"{how} {times}")


def has_node_budget(inlined: Inlined) -> bool:
    """Whether the agent reads ``config.nodeBudget``, by itself or by ``connectx.clock``."""
    return any("nodeBudget" in text for text in inlined.sources.values())


def _by_clock(asked: list[tuple[Question, dict[str, Any]]]) -> str:
    return ", each by its own clock" if median(reply["seconds"] for _, reply in asked) >= CLOCKED else ""


def _different(asked: list[tuple[Question, dict[str, Any]]], columns: list[int | None]) -> list[int]:
    return [i for i, (_, reply) in enumerate(asked) if columns[i] != reply["column"]]


def _rounded(inlined: Inlined, reduced: Mapping[str, bytes], folder: Path) -> dict[str, str]:
    """Data file of the source -> a file in a new folder with what the built file reads in its place."""
    folder.mkdir()
    instead = {}
    for number, (path, content) in enumerate(reduced.items()):
        place = folder / f"{number}{inlined.data[path].suffix}"
        place.write_bytes(restored(content))
        instead[str(inlined.data[path].resolve())] = str(place)
    return instead


def _ask_source(
    theirs: Asking, count: int, report: Report
) -> tuple[float, list[tuple[Question, dict[str, Any]]], bool]:
    """Asks the source until it has answered ``count`` questions with a legal column.

    Returns the seconds of its load, these questions with its replies, and whether its moves take too long to ask all.
    """
    questions = sample(count)
    questions += sample(sum(not question.is_standard for question in questions), 8, (STANDARD,))
    answer = theirs(questions, legal=count)
    if _failed(answer, "the source agent", report):
        return 0.0, [], False
    replied = list(zip(questions, answer["result"]["replies"], strict=False))
    asked = [(question, reply) for question, reply in replied if reply["column"] in question.legal]
    _report_failures(asked, [(q, r) for q, r in replied if q.is_standard and r["column"] not in q.legal], report)
    _note_repairs({reply["type"]: reply["text"] for _, reply in asked}, report)
    return answer["result"]["load_seconds"], asked, len(asked) < count and len(replied) < len(questions)


def _report_failures(
    asked: list[tuple[Question, dict[str, Any]]], failed: list[tuple[Question, dict[str, Any]]], report: Report
) -> None:
    """Notes positions of Connect Four that the source does not answer; rejects a source that answers none at all."""
    if failed:
        question, reply = failed[0]
        what = f"{'raises' if reply['type'] == 'exception' else 'returns'} {reply['text']}"
        text = f"the source {what} on {question.name} ({_place(question)})"
        text += f", and gives no legal column on {len(failed)} of {len(failed) + len(asked)} positions"
        text += "; the guard plays there" if asked else ""
        report.add("same moves", "note" if asked else "reject", text)
    elif not asked:
        report.add("same moves", "reject", "the source answers no position")


def _place(question: Question) -> str:
    return f"{question.config['rows']} x {question.config['columns']}, after {question.obs['step']} plies"


def _note_repairs(kinds: dict[str, str], report: Report) -> None:
    """Notes types of replies that count only because the guard converts them to ints."""
    for kind in sorted(kinds.keys() - {"int"}):
        text = f"the agent returns {kinds[kind]}, of type {kind}. Kaggle accepts only a plain int, so the source itself"
        text += " would lose every game, also here; the guard of the built file converts it"
        report.add("guard", "note", f"{text}. Better return int(column)")


def _judge_difference(
    stage: Stage,
    file: Path,
    theirs: Asking,
    compared: list[tuple[tuple[Question, dict[str, Any]], int | None]],
    who: str,
    report: Report,
) -> None:
    """Decides whether moves differ because of the build, or because the source does not repeat its own moves.

    A source that is quick and repeats all its moves has no noise: one difference is enough. Else both are asked again
    where they differed.

    Args:
        theirs: asks the source; ``who`` is what the report calls it.
        compared: each question with the source's reply, and the built file's column.
    """
    differ = [question for (question, reply), column in compared if reply["column"] != column]
    text, first = f"the built file differs from {who} on {len(differ)} of {len(compared)} positions", differ[0]
    if not _by_clock([asked for asked, _ in compared]):
        replies = _parts(theirs([question for (question, _), _ in compared]))
        pairs = zip((asked for asked, _ in compared), replies, strict=False)
        fickle = [question for (question, before), reply in pairs if reply["column"] != before["column"]]
        if not fickle:
            report.add("same moves", "reject", f"{text}, first on {first.name} ({_place(first)})")
            return
        text += f". Asked again with the same seeds, the source changes its own move on {len(fickle)} of {len(replies)}"
    share = {"stop_after": COMPARE_SECONDS / ROUNDS}
    ours = partial(stage.replies, file, "path", **share)
    sides = (lambda asked: _parts(theirs(asked, bar=None, **share)), lambda asked: _parts(ours(asked)))
    draws = drawn(differ, sides, COMPARE_SECONDS)
    text += f". Both were asked there again, {draws.rounds} times"
    if draws.differ:
        report.add("same moves", "reject", f"{text}. So the build is to blame, first on {first.name} ({_place(first)})")
    else:
        text += ": each column comes as often. Its clock or its own random generator decides, so this shows no fault of"
        report.add("same moves", "note", f"{text} the build")


def _parts(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The replies in an answer; none if it could not be loaded."""
    return answer["parts"][1:]


def _failed(answer: dict[str, Any], who: str, report: Report) -> bool:
    """Reports a comparison that could not be made; returns whether that is so."""
    if answer["ended"] != "ok":
        why = f": {NODE_CLOCK}" if answer["ended"] == "timeout" else ""
        report.add("same moves", "reject", f"{who} gave no replies: {answer['ended']} ({answer['stage']}){why}")
    elif "raised" in answer["result"]:
        text = f"{who} does not load: {answer['result']['raised']}: {answer['result']['text']}"
        report.add("same moves", "reject", text)
    else:
        return False
    return True
