"""A build or a check from beginning to end: what the command does, and the functions of ``connectx_toolkit``.

An agent is a name from agents/, a Python file, a notebook (``lesson.ipynb``, ``lesson.ipynb:my_agent``), or a function.
"""

import contextlib
import difflib
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path

from connectx_core.books import Book
from connectx_core.position import STANDARD
from connectx_toolkit.builder.build import HEADER, BuildOptions, build
from connectx_toolkit.builder.notebook.cells import page_named
from connectx_toolkit.builder.notebook.live import from_function
from connectx_toolkit.builder.notebook.page import as_page_writes_it, from_page
from connectx_toolkit.builder.originals import Cells, Function, Original, Source
from connectx_toolkit.builder.preflight.check import run_preflight
from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.builder.preflight.trial import Runner
from connectx_toolkit.builder.source.inline import Inlined, inline
from connectx_toolkit.builder.source.module import ON_YOUR_WORD, PERHAPS_WITHOUT, needed_packages
from connectx_toolkit.builder.source.refusals import unknown_package
from connectx_toolkit.kaggle.remedies import KNOWN_PACKAGES
from connectx_toolkit.kaggle.upload import Unsuitable, refuse_other_texts
from connectx_toolkit.system.console import as_option, command, function_meant, shell
from connectx_toolkit.system.files import AGENTS, IS_CHECKOUT, ROOT, WEIGHTS, check_folder, our_agents, read_as

SUBMISSIONS = ROOT / "submissions" if IS_CHECKOUT else Path("submissions")
Tell = Callable[[str], None]


def packages_of(names: str | Sequence[str]) -> frozenset[str]:
    """Packages to accept on the user's word. Raises ValueError if one is no name."""
    names = [names] if isinstance(names, str) else names
    for name in names:
        if not name.isidentifier():
            raise ValueError(f"{as_option('allow-package')} takes a name as import statements have it, not {name!r}")
    return frozenset(names)


def check_file(path: Path, options: BuildOptions, allowed: frozenset[str], tell: Tell) -> Report:
    """The pre-flight of a finished file, a .py or a .tar.gz, or of what a notebook writes.

    Raises:
        OSError: it cannot be read.
        ValueError: the notebook writes no submission.
    """
    with Runner() as runner, finished_file(path) as file:
        runner.tell = tell
        report = run_preflight(file, runner, slowdown=options.slowdown, full=options.full)
        judge_packages(file, allowed, report)
    return report


@contextlib.contextmanager
def finished_file(path: Path) -> Iterator[Path]:
    """The file to check: of a notebook, the submission that it writes, as it writes it."""
    page = page_named(str(path))
    if page is None or path.suffix == ".py":
        yield path
        return
    target, text = as_page_writes_it(*page)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, target)
        file.write_text(text, encoding="utf-8", newline="\n")
        yield file


def judge_packages(file: Path, allowed: frozenset[str], report: Report) -> None:
    """Judges the packages that a finished file was seen to import by the rule of the build; ``allowed``: on the user's
    word."""
    seen = {entry.removeprefix("package ") for entry in report.figures.get("seen", ()) if entry.startswith("package ")}
    needed = needed_packages(sources_of(file)) if seen - KNOWN_PACKAGES else {}
    for name in sorted(seen - KNOWN_PACKAGES):
        if name in allowed:
            report.add("package", "note", ON_YOUR_WORD.format(name))
        elif name in needed:
            report.add("package", "unknown", unknown_package(name, file, needed[name]))
        else:
            report.add("package", "note", PERHAPS_WITHOUT.format(name))


def build_agent(
    agent: str | PathLike | Callable,
    output: Path | None,
    options: BuildOptions,
    tell: Tell,
    *,
    data: Sequence[Path] = (),
    book: Path | None = None,
    allowed: frozenset[str] = frozenset(),
) -> Report:
    """Writes the submission of an agent if it is accepted.

    Args:
        output: None: the agent's name in ``SUBMISSIONS``.
        data: files and folders for the archive that are not found by themselves.
        book: of the second seat, for the agent ``perfect``.

    Raises:
        ValueError: there is no such agent, or the file cannot be written or must not be replaced.
        Refused, NotAccepted, OSError: as ``connectx_toolkit.builder.build.build``.
    """
    with tempfile.TemporaryDirectory() as folder:
        name, inlined, original = inlined_of(agent, book, Path(folder), allowed, data)
        output = output_of(output, name, inlined)
        with Runner() as runner:
            runner.tell = tell
            report = build(inlined, output, options, runner, tell, original)
    report.written = output
    return report


def inlined_of(
    agent: str | PathLike | Callable, book: Path | None, folder: Path, allowed: frozenset[str], data: Sequence[Path]
) -> tuple[str, Inlined, Original]:
    """The agent's name for files, what the builder takes, and what the built file should play as.

    Args:
        folder: for what is written of a notebook's or a live function; it should exist until the agent is built.
    """
    page = None if callable(agent) else page_named(fspath(agent))
    if book is not None and (callable(agent) or page):
        raise ValueError(OF_PERFECT.format("a notebook"))
    if callable(agent):
        written = from_function(agent, folder)
        return written.entry, written.to_inlined(allowed, data), Function(agent, written)
    if page:
        written = from_page(*page, folder)
        inlined = written.to_inlined(allowed, data)
        cells = Cells(inlined, written)
        cells.pack_files_of_cells(inlined)
        return page[1] or page[0].stem, inlined, cells
    path = find_agent(fspath(agent))
    inlined = inline(with_book(path, book, folder), allowed, data)
    return path.stem, inlined, Source(inlined)


def find_agent(name: str) -> Path:
    """The file of an agent given by name or path. Raises ValueError if there is none."""
    if name in our_agents():
        return AGENTS / f"{name}.py"
    path = Path(name)
    if path.is_dir():
        raise ValueError(f"{name} is a folder; give the file that defines agent(obs, config)")
    if not path.is_file():
        known = our_agents()
        close = difflib.get_close_matches(name, [*([] if path.suffix else known), *_files_beside(path)], 1)
        meant = f"did you mean {meant}? " if (meant := function_meant(name) or next(iter(close), "")) else ""
        raise ValueError(f"no agent {name}: {meant}expected a file or one of {', '.join(known)}")
    if path.suffix != ".py":
        if (content := path.read_bytes())[:2] == b"\x1f\x8b":
            how = command(f"build --check {name}", f"check({name!r})")
            raise ValueError(f"{name} is compressed, as a finished submission is: {how} checks it")
        try:
            refuse_other_texts(name, content)
        except Unsuitable as kind:
            raise ValueError(f"{name}: {kind}") from None
        raise ValueError(f"{name} is not a Python file (.py)")
    return path


def _files_beside(path: Path) -> list[str]:
    return [str(each) for ending in ("[!_]*.py", "*.ipynb") for each in path.parent.glob(ending) if each.is_file()]


OF_PERFECT = "a book changes the second seat's book of the agent perfect, not of {}"


def with_book(agent: Path, book: Path | None, folder: Path) -> Path:
    """The agent ``perfect``, copied to the folder, with another second seat's book; ``agent`` itself without a book.

    Raises:
        ValueError: it is another agent; or the file is not such a book, or one for another board.
    """
    if book is None:
        return agent
    if agent.resolve() != (AGENTS / "perfect.py").resolve():
        raise ValueError(OF_PERFECT.format(agent.stem))
    if not book.exists():
        made = f"{shell('train book --games FILE')} writes it if your games teach something"
        raise ValueError(f"{book}: no such file. {made}; without it, perfect plays with its own book")
    content = read_as(Book.from_bytes, book)
    if content.geometry != STANDARD:
        raise ValueError(f"{book}: a book for {content.geometry.columns}x{content.geometry.rows}, expected one for 7x6")
    shutil.copy(agent, folder)
    shutil.copytree(WEIGHTS, folder / WEIGHTS.name)
    shutil.copy(book, folder / WEIGHTS.name / "perfect_second_book.bin")
    return folder / agent.name


def output_of(output: Path | None, name: str, inlined: Inlined) -> Path:
    """The file to write: ``output``, or the agent's name in ``SUBMISSIONS``.

    Raises:
        ValueError: it cannot be written, or what it would replace may be missed.
    """
    output = output or SUBMISSIONS / f"{name}.{'tar.gz' if inlined.files else 'py'}"
    check_folder(output)
    if not output.name.endswith((".py", ".tar.gz")):
        raise ValueError(f"{output} should end in .py or .tar.gz")
    if output.resolve() in inlined.paths:
        is_agent = output.resolve() == inlined.agent_path.resolve()
        what = "the agent itself" if is_agent else "a module that the agent imports"
        raise ValueError(f"{output} is {what}: choose another file with {as_option('output')}")
    if output.exists() and not is_submission(output):
        problem = f"{output} exists and was not built by this script (it does not begin with {HEADER!r})"
        raise ValueError(f"{problem}: choose another file with {as_option('output')}, or move it away first")
    return output


def is_submission(path: Path) -> bool:
    """Whether a file was built by this toolkit: a text that begins with ``HEADER``, or an archive of one."""
    with contextlib.suppress(OSError, EOFError, tarfile.TarError, zlib.error):
        if path.name.endswith(".tar.gz"):
            with tarfile.open(path) as tar:
                first = tar.next()
                main = tar.extractfile(first) if first is not None and first.isfile() else None
                return main is not None and main.read(len(HEADER)) == HEADER.encode()
        with path.open("rb") as file:
            return file.read(len(HEADER)) == HEADER.encode()
    return False


def sources_of(submission: Path) -> list[bytes]:
    """The Python files in a submission: itself, or those of an archive."""
    if not tarfile.is_tarfile(submission):
        return [submission.read_bytes()]
    with tarfile.open(submission) as tar:
        members = [tar.extractfile(member) for member in tar if member.isfile() and member.name.endswith(".py")]
        return [member.read() for member in members if member is not None]
