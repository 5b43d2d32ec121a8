"""Builds a submission: inline, embed, pre-flight, compare with the source. If one of them fails, nothing is written.

The text has readable sources, data as text with checksums, the guard, and at the end `agent`. The same inputs give the
same bytes: there are no dates and no paths of this machine, and everything is sorted.
"""

import base64
import gzip
import hashlib
import io
import math
import tarfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from connectx_core import __version__
from connectx_core.machine_code import EMBEDDED, pack_parts
from connectx_toolkit.builder.comparison import POSITIONS, Comparison, describe_left_out
from connectx_toolkit.builder.notebook.written import name_places
from connectx_toolkit.builder.originals import Original, SideAnswer, Source, source_job
from connectx_toolkit.builder.preflight.check import run_preflight
from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.builder.preflight.trial import (
    CODE_GEOMETRIES,
    SAMPLE_GEOMETRIES,
    Runner,
    Sandbox,
    open_sandbox,
)
from connectx_toolkit.builder.source.data_files import list_sizes
from connectx_toolkit.builder.source.inline import Inlined, Refused
from connectx_toolkit.builder.source.old_numpy import restoring_code
from connectx_toolkit.builder.source.refusals import TORCH_FILES, adopt_command
from connectx_toolkit.kaggle.rules import Limits
from connectx_toolkit.system.console import as_option
from connectx_toolkit.system.files import replacing, version_of

IMPORTER, GUARD = (Path(__file__).parent / "embedded" / name for name in ("importer.py", "guard.py"))
HEADER = "# ConnectX submission:"  # how every built file begins
LINE_WIDTH = 116  # characters of base64 per line: editors cannot handle lines of megabytes

_TAIL = """
_importer, _guard = type(_time)("submission_importer"), type(_time)("submission_guard")
exec(compile(IMPORTER[1:], "submission_importer.py", "exec", dont_inherit=True), _importer.__dict__)
exec(compile(GUARD[1:], "submission_guard.py", "exec", dont_inherit=True), _guard.__dict__)
_folder = _importer.folder_of(_importer.sys._getframe().f_code.co_filename)
_submission = _guard.Submission(_importer.Modules(SOURCES, DATA, _folder), {entry!r}, _STARTED)


def agent(obs, config):
    return _submission.answer(obs, config)
"""


def raw_literal(source: str) -> str:
    """A Python literal of a line feed and the source, raw unless the quotes in the source prevent that."""
    for quotes in ("'''", '"""'):
        if quotes not in source:
            return f"r{quotes}\n{source}{quotes}"
    escaped = source.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    return f"'''\n{escaped}'''"


def encode_data(content: bytes) -> tuple[str, str]:
    """The form that the importer's ``read_data`` reads: (sha256 of the zlib stream, its base64)."""
    stream = zlib.compress(content, 9)
    return hashlib.sha256(stream).hexdigest(), base64.b64encode(stream).decode()


def _short_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _header(inlined: Inlined, contents: Mapping[str, bytes]) -> str:
    module, function = inlined.entry
    lines = [
        f"{HEADER} {function} of {module}".removeprefix("# "),
        f"built by connectx-toolkit {__version__} with build_submission.py: change the sources, not this file",
        "",
        "sha256 (first 16 digits) of the modules as embedded below:",
        *(f"  {_short_digest(text.encode())}  {path}" for path, text in sorted(inlined.sources.items())),
        f"  {_short_digest(IMPORTER.read_bytes())}  the importer",
        f"  {_short_digest(GUARD.read_bytes())}  the guard",
    ]
    if contents:
        lines += ["and of the data files:"]
        about = {MACHINE_CODE: ABOUT_CODE}
        lines += [f"  {_short_digest(data)}  {path}{about.get(path, '')}" for path, data in sorted(contents.items())]
    if inlined.files:
        lines += ["and of the files beside it in the archive:"]
        lines += [f"  {_short_digest(file.read_bytes())}  {path}" for path, (file, _) in sorted(inlined.files.items())]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def render(inlined: Inlined, code: bytes = b"") -> str:
    """The submission's text. ``code``: machine code of kernels, if there is any. Raises OSError."""
    contents = {path: file.read_bytes() for path, file in inlined.data.items()} | ({MACHINE_CODE: code} if code else {})
    parts = [_header(inlined, contents), "import time as _time\n\n_STARTED = _time.perf_counter()\n"]
    parts += [f"\n{restoring_code(inlined.old_names)}\n"] if inlined.old_names else []
    parts.append("\nSOURCES = {}\n")
    parts += [f"\nSOURCES[{path!r}] = {raw_literal(text)}\n" for path, text in sorted(inlined.sources.items())]
    parts.append("\nDATA = {}\n")
    for path, content in sorted(contents.items()):
        digest, text = encode_data(content)
        wrapped = "\n".join(text[start : start + LINE_WIDTH] for start in range(0, len(text), LINE_WIDTH))
        parts.append(f"DATA[{path!r}] = ({digest!r}, r'''\n{wrapped}\n''')\n")
    for name, source in (("IMPORTER", IMPORTER), ("GUARD", GUARD)):
        parts.append(f"\n{name} = {raw_literal(source.read_text(encoding='utf-8'))}\n")
    return "".join([*parts, _TAIL.format(entry=inlined.entry)])


def archive_bytes(main: bytes, files: Mapping[str, bytes]) -> bytes:
    """A .tar.gz with ``main`` as main.py at its root, and ``files`` by their paths; without dates and owners."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in [("main.py", main), *sorted(files.items())]:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o644
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), 9, mtime=0)


COMPILE_SECONDS = 300.0  # that the kernels may take; numba needs some 5
MACHINE_CODE = f"connectx_core/{EMBEDDED}"
ABOUT_CODE = f""": machine code of the modules' kernels for x86-64, by numba {version_of("numba")}
#     and LLVM, from the sources in this file; used if it passes a test when the file is loaded, else numba compiles.
#     Built with --no-machine-code, the file has none."""
LISTED_FILES = 20  # files that an error names
MOST_POSITIONS = 20_000  # drawing so many takes half a minute


class NotAccepted(ValueError):
    """The submission was built, but the pre-flight or the comparison refused it."""

    def __init__(self, report: Report):
        super().__init__("; ".join([f"{report.verdict} {report.name}", *(report.reasons or report.unknown)]))
        self.report = report


@dataclass(frozen=True)
class BuildOptions:
    """Options of a build or a check. Raises ValueError if one is impossible.

    positions: in how many positions the built file is compared with its original, besides openings and games
    """

    positions: int = POSITIONS
    slowdown: float | None = None
    full: bool = False
    machine_code: bool = True

    def __post_init__(self) -> None:
        if type(self.positions) is not int or not 1 <= self.positions <= MOST_POSITIONS:
            wanted = f"an integer from 1 to {MOST_POSITIONS:,}"
            raise ValueError(f"{as_option('positions')} should be {wanted}, not {self.positions!r}")
        if self.slowdown is not None and not 1 <= self.slowdown < math.inf:
            raise ValueError(f"{as_option('slowdown')} should be at least 1, not {self.slowdown:g}")


def packed_files(inlined: Inlined, most: int | None = None) -> str:
    """How much lies beside the agent in words, at most so many files by their names. Raises OSError."""
    sizes = {path: file.stat().st_size for path, (file, _) in inlined.files.items()}
    return f"{sum(sizes.values()):,} bytes in {len(sizes)} files beside the agent: {list_sizes(sizes, most)}"


def submission_bytes(inlined: Inlined, output: Path, code: bytes = b"") -> bytes:
    """The bytes of the submission, an archive if ``output`` ends in .tar.gz.

    Raises:
        Refused: the agent names files beside it, and ``output`` is a single .py.
        OSError, ValueError: a file cannot be read; or the files are larger than the judge's limit.
    """
    most = Limits().size
    if sum(file.stat().st_size for file, _ in inlined.files.values()) > most:
        why = f"the judge allows {most:,} bytes: move away what it does not open"
        raise ValueError(f"{why}; {packed_files(inlined, LISTED_FILES)}")
    text = render(inlined, code)
    if output.name.endswith(".tar.gz"):
        return archive_bytes(text.encode(), {path: file.read_bytes() for path, (file, _) in inlined.files.items()})
    if len(text) > most and inlined.data:
        cure = 'as text, data takes a third more: open it as Path(__file__).parent / "name", and build a .tar.gz'
        raise ValueError(f"{len(text):,} bytes, and the judge allows {most:,}; {cure}")
    if inlined.files:
        cure = 'build an archive (.tar.gz), or read it by connectx_core.weights.read_data("name"), which embeds it'
        file, place = next(iter(inlined.files.values()))
        if file.suffix in TORCH_FILES:
            cure += f", or `{adopt_command(file.name, inlined.agent_path)}`"
        why = f"{place.reason}, which a single .py cannot hold: {cure}; {packed_files(inlined)}"
        raise Refused([inlined.with_place(place)._replace(reason=why)])
    return text.encode()


def build(
    inlined: Inlined,
    output: Path,
    options: BuildOptions,
    runner: Runner,
    tell: Callable[[str], None] = lambda text: None,
    original: Original | None = None,
) -> Report:
    """Writes ``output``, a .py or a .tar.gz by its name, if and only if the pre-flight and the comparison accept it.

    Args:
        tell: called with a line at each step.
        original: what the file should play as; by default the agent's own module.

    Raises:
        builder.source.refusals.Refused: the agent names files beside it, which a .py cannot hold; with file and line.
        NotAccepted: it was refused; with the report.
        OSError, ValueError: a file cannot be read, or is too large.
    """
    code, notes = compile_kernels(inlined, runner, options, tell)
    content = submission_bytes(inlined, output, code)
    parts = f"{len(content):,} bytes, {len(inlined.sources)} modules, {len(inlined.files)} files beside them"
    tell(f"checking {parts}: some seconds, or minutes if a move takes a second")
    at_nodes, original = any("nodeBudget" in text for text in inlined.sources.values()), original or Source(inlined)

    def compare(sandbox: Sandbox, file: Path, report: Report) -> None:
        if not report.accepted:
            if facts := describe_left_out(original):
                report.add("notebook", "note", facts)
            return
        boards = CODE_GEOMETRIES if code else SAMPLE_GEOMETRIES
        answers = Comparison(original, sandbox, file, at_nodes, report).run(options.positions, boards)
        if answers and code:
            _report_code(*answers, report)

    home = inlined.root or inlined.agent_path.parent
    with replacing(output) as draft:
        draft.write_bytes(content)
        report = run_preflight(draft, runner, slowdown=options.slowdown, full=options.full, extra=compare, home=home)
        report.name = output.name
        if inlined.files:
            report.add("data", "note", f"the archive holds main.py and {packed_files(inlined)}")
        for topic, lines in (("source", inlined.notes), ("machine code", notes)):
            for line in lines:
                report.add(topic, "note", line)
        report.findings = [each._replace(text=name_places(each.text, inlined.places)) for each in report.findings]
        if not report.accepted:
            raise NotAccepted(report)
    return report


def _report_code(source: SideAnswer, built: SideAnswer, report: Report) -> None:
    """Says whether the built file's machine code was used; numba compiles the kernels of its source."""
    said = "".join([built.loaded["load_stderr"], *(reply["stderr"] for reply in built.replies)])
    is_used = "machine code is not usable" not in said
    times = f"the built file loads in {built.loaded['load_seconds']:.2f} s"
    if source.loaded:
        times += f", and its source, which numba compiles, in {source.loaded['load_seconds']:.2f} s"
    report.add("machine code", "pass" if is_used else "note", f"{'' if is_used else 'not '}usable here: {times}")


def compile_kernels(
    inlined: Inlined, runner: Runner, options: BuildOptions, tell: Callable[[str], None]
) -> tuple[bytes, list[str]]:
    """Machine code of the kernels that the agent prepares, b"" if there is none; why there is none where it should."""
    if not options.machine_code or "connectx_core/machine_code.py" not in inlined.sources:
        return b"", []
    tell("compiling its kernels for the processors that Kaggle may have")
    job = source_job(inlined) | {"job": "kernels", "form": "source", "file": str(inlined.agent_path.resolve())}
    with open_sandbox(Limits(), runner, "main.py") as sandbox:
        answer = sandbox.run(job | {"limit": COMPILE_SECONDS}, "compiling")
    result = answer["result"] or {}
    if answer["ended"] != "ok" or "raised" in result:
        why = result.get("text", answer["ended"])
        return b"", [f"there is none ({why}): numba compiles the kernels at every load"]
    parts = {name: base64.b64decode(text) for name, text in sorted(result["parts"].items())}
    return pack_parts(parts) if parts else b"", []
