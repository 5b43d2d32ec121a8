"""Builds one file that Kaggle accepts from an agent, or says why it cannot; or checks any finished submission.

  python build_submission.py minimax                       agents/minimax.py -> submissions/minimax.py
  python build_submission.py my_agent.py -o submission.py  any agent file, with the helper modules beside it
  python build_submission.py lesson.ipynb                  a notebook's agent, with what it uses from other cells
  python build_submission.py --check submission.py         will Kaggle accept this .py or .tar.gz?
  python build_submission.py minimax --submit "depth 12"   build it and submit it (needs a Kaggle API token)

An agent is a Python file that defines `def agent(obs, config)`, which returns the number of a column as an int.
It may import the standard library, numpy, numba, torch, this repo's `connectx`, and modules or packages beside it.
Data (weights, tables, an opening book) is in files beside it, either opened by path or embedded:

  weights = np.load(Path(__file__).parent / "weights.npz")     the submission becomes a .tar.gz
  weights = np.load(io.BytesIO(read_data("weights.npz")))      from connectx.weights import read_data; it stays one .py

The built file contains all modules in readable form, embedded data as text, and a guard: whatever the agent does, a
legal column is played in time. The file is written only if Kaggle's own environment accepts it and it plays the same
moves as its source.
"""

import argparse
import contextlib
import difflib
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from connectx.books import SparseBook
from connectx.position import STANDARD
from connectx_toolkit.builder.build import HEADER, POSITIONS, NotAccepted, Options, build, is_submission, sources_of
from connectx_toolkit.builder.notebook.cells import page_named
from connectx_toolkit.builder.notebook.page import as_page_writes_it, from_page
from connectx_toolkit.builder.preflight.check import check
from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.builder.preflight.stage import Runner
from connectx_toolkit.builder.source.inline import Inlined, Refused, inline
from connectx_toolkit.builder.source.module import ON_YOUR_WORD, PERHAPS_WITHOUT, needed_packages
from connectx_toolkit.builder.source.refusals import unknown_package
from connectx_toolkit.cli.main import DONE, FAILED, NOT_JUDGED, REFUSED
from connectx_toolkit.cli.main import run as run_script
from connectx_toolkit.kaggle.remedies import KNOWN
from connectx_toolkit.kaggle.rules import Limits
from connectx_toolkit.kaggle.upload import Unsuitable, refuse_other_texts
from connectx_toolkit.players.spec import our_agents
from connectx_toolkit.system.console import Parser, as_typed, complain
from connectx_toolkit.system.files import AGENTS, IS_CHECKOUT, ROOT, WEIGHTS, check_folder, read_as
from connectx_toolkit.system.table import Table, console_for_tables

if TYPE_CHECKING:
    from connectx_toolkit.kaggle.account import Kaggle

SUBMISSIONS = ROOT / "submissions" if IS_CHECKOUT else Path("submissions")
CODES = {"ACCEPT": DONE, "REJECT": FAILED, "NOT JUDGED": NOT_JUDGED}
MOST_POSITIONS = 20_000  # drawing so many takes half a minute


class UsageError(ValueError):
    """The command line asks for something impossible; the text says what, in one line."""


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = Parser(prog="build_submission.py", description=__doc__)
    add = parser.add_argument
    agent = "agent to build: a name from agents/, a file, or a notebook (lesson.ipynb, or lesson.ipynb:FUNCTION)"
    add("agent", nargs="?", help=agent)
    where = "file to write (default: submissions/AGENT.py, or .tar.gz if the agent opens files)"
    add("-o", "--output", type=Path, metavar="FILE", help=f"{where}; replaces only files that this script has built")
    finished = "check a finished .py or .tar.gz, or the file that a notebook writes, and build nothing"
    add("--check", type=Path, metavar="FILE", help=finished)
    add("--format", choices=("py", "tar.gz"), help="kind of file to write (default: by the ending of -o)")
    data = "file or folder to add to the archive, if the builder does not find it by itself; may be repeated"
    add("--data", action="append", default=[], type=Path, metavar="FILE", help=data)
    book = "second seat's book to build into perfect, as train.py book --second --games FILE makes it (default: ours)"
    add("--book", type=Path, metavar="FILE", help=book)
    precision = "precision of the float arrays in embedded data files (default: as they are)"
    add("--dtype", choices=("float16", "int8"), help=precision)
    code = "leave machine code of the agent's kernels out: numba then compiles them at every load"
    add("--no-machine-code", dest="machine_code", action="store_false", help=code)
    package = "accept the import of a package that Kaggle is not known to have; may be repeated"
    add("--allow-package", action="append", default=[], metavar="NAME", help=package)
    count = "largest number of positions on which the built file is compared with its source; about 100 are asked if "
    count += "a move takes 0.1 s (default: %(default)s)"
    add("--positions", type=int, default=POSITIONS, metavar="N", help=count)
    add(
        "--slowdown",
        type=float,
        metavar="N",
        help="also measure times on 1/N of one core, as on a slower machine (default: no)",
    )
    full = "also ask on boards of other sizes; when building, also play the validation game at Kaggle's clock, which "
    full += "takes a minute or more (--check always does)"
    add("--full", action="store_true", help=full)
    add(
        "--size-limit", type=float, default=100, metavar="MIB", help="largest submission, in MiB (default: %(default)s)"
    )
    memory = "memory that the agent may use, in MiB (default: %(default)s)"
    add("--memory-limit", type=float, default=6144, metavar="MIB", help=memory)
    submit = "submit the accepted file to Kaggle with this message; asks first on a terminal"
    add("--submit", metavar="MESSAGE", help=submit)
    add("--json", action="store_true", help="print the report as JSON")
    return parser.parse_args(arguments)


def find_agent(name: str) -> Path:
    """The file of an agent given by name or path."""
    if name in our_agents():
        return AGENTS / f"{name}.py"
    path = Path(name)
    if path.is_dir():
        raise UsageError(f"{name} is a folder; give the file that defines agent(obs, config)")
    if not path.is_file():
        known = our_agents()
        close = difflib.get_close_matches(name, [*known, *_files_beside(path)], 1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise UsageError(f"no agent {name}: {meant}It should be a file or one of {', '.join(known)}")
    if path.suffix != ".py":
        try:
            refuse_other_texts(name, path.read_bytes())
        except Unsuitable as kind:
            raise UsageError(f"{name}: {kind}") from None
        raise UsageError(f"{name} is not a Python file (.py)")
    return path


def _files_beside(path: Path) -> list[str]:
    return [str(each) for ending in ("[!_]*.py", "*.ipynb") for each in path.parent.glob(ending)]


@contextlib.contextmanager
def sources_of_agent(given: argparse.Namespace) -> Iterator[tuple[str, Inlined]]:
    """The agent's name for files, and what the builder takes of it; in the block, files of a notebook's agent exist.

    Raises:
        Refused, OSError, ValueError: as ``inline`` and ``from_page``; UsageError: there is no such agent.
    """
    packages = frozenset(given.allow_package)
    if page := page_named(given.agent):
        if given.book is not None:
            raise UsageError("--book changes the second seat's book of the agent perfect, not of a notebook")
        path, name = page
        with tempfile.TemporaryDirectory() as folder:
            yield name or path.stem, from_page(path, name, Path(folder)).inlined(packages, given.data)
    else:
        with with_book(find_agent(given.agent), given.book) as agent:
            yield agent.stem, inline(agent, packages, given.data)


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


@contextlib.contextmanager
def with_book(agent: Path, book: Path | None) -> Iterator[Path]:
    """The agent ``perfect`` in a folder of its own, with another second seat's book; ``agent`` itself without a book.

    Raises:
        UsageError: it is another agent.
        ValueError: the file is not such a book, or one for another board.
    """
    if book is None:
        yield agent
        return
    if agent.resolve() != (AGENTS / "perfect.py").resolve():
        raise UsageError(f"--book changes the second seat's book of the agent perfect, not of {agent.stem}")
    if not book.exists():
        made = "python train.py book --second --games FILE writes it if your games teach something"
        raise UsageError(f"{book}: no such file. {made}; without --book, perfect plays with its own book")
    found = read_as(SparseBook.from_bytes, book)
    if found.geometry != STANDARD:
        raise ValueError(f"{book}: a book for {found.geometry.rows}x{found.geometry.columns}, expected one for 7x6")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, agent.name)
        shutil.copy(agent, copy)
        shutil.copytree(WEIGHTS, Path(folder, WEIGHTS.name))
        shutil.copy(book, Path(folder, WEIGHTS.name, "perfect_second_book.bin"))
        yield copy


def options_of(given: argparse.Namespace) -> Options:
    for name in ("positions", "size_limit", "memory_limit"):
        if not 0 < getattr(given, name) * 2**20 < math.inf:  # MiB in bytes
            raise UsageError(f"--{name.replace('_', '-')} should be positive, not {getattr(given, name)}")
    if given.positions > MOST_POSITIONS:
        raise UsageError(f"--positions should be at most {MOST_POSITIONS:,}, not {given.positions:,}")
    if given.slowdown is not None and not 1 <= given.slowdown < math.inf:
        raise UsageError(f"--slowdown should be at least 1, not {given.slowdown:g}")
    if (given.agent is None) == (given.check is None):
        raise UsageError("give either an agent to build or --check FILE; --help explains both")
    of_building = [name for name in ("output", "format", "data", "dtype", "book") if getattr(given, name)]
    of_building += [] if given.machine_code else ["no_machine_code"]
    if given.check is not None and of_building:
        raise UsageError(f"--{of_building[0].replace('_', '-')} is for building; --check takes a file as it is")
    if given.submit is not None and given.check is not None and given.check.suffix == ".ipynb":
        raise UsageError(f"--check {given.check} checks what the notebook writes: build it to submit it")
    if given.submit is not None and not given.submit.strip():
        raise UsageError("--submit takes a message for Kaggle's list of your submissions, not an empty one")
    for package in given.allow_package:
        if not package.isidentifier():
            raise UsageError(f"--allow-package takes a name as import statements have it, not {package!r}")
    limits = Limits(size=int(given.size_limit * 2**20), memory=int(given.memory_limit * 2**20))
    return Options(
        given.dtype, given.positions, given.slowdown, given.full or given.submit is not None, limits, given.machine_code
    )


def output_of(given: argparse.Namespace, name: str, inlined: Inlined) -> Path:
    """The file to write: -o, or the agent's name in submissions/.

    Raises:
        UsageError, ValueError: it cannot be written, or what it would replace may be missed.
    """
    output = given.output or SUBMISSIONS / f"{name}.{given.format or ('tar.gz' if inlined.files else 'py')}"
    check_folder(output)
    if not output.name.endswith(f".{given.format}" if given.format else (".py", ".tar.gz")):
        raise UsageError(f"{output} should end in .{given.format or 'py or .tar.gz'}")
    if output.resolve() in inlined.paths:
        what = "the agent itself" if output.resolve() == inlined.agent_path else "a module that the agent imports"
        raise UsageError(f"{output} is {what}: choose another file with -o")
    if output.exists() and not is_submission(output):
        found = f"{output} exists and was not built by this script (it does not begin with {HEADER!r})"
        raise UsageError(f"{found}: choose another file with -o, or move it away first")
    return output


def show(report: Report, as_json: bool, written: Path | None) -> None:
    """Prints the verdict with its reasons, for people or for machines."""
    if as_json:
        print(json.dumps(report.as_json() | {"written": str(written) if written else None}, indent=2))
        return
    console = console_for_tables()
    found = [(topic, level, as_typed(text)) for topic, level, text in report.findings]
    console.print(Table("", ("what", "", "found"), found, kind=itemgetter(1)))
    warned = "; Kaggle takes it, and the warnings say where it will lose games" if report.warnings else ""
    verdict = f"{report.verdict} {report.name}{warned if report.accepted else ''}"
    console.print(verdict, style="green" if report.accepted else "bold red", soft_wrap=True)
    if written:
        console.print(f"wrote {written}", soft_wrap=True)


def tell(line: str) -> None:
    """Prints a line of progress to stderr; long steps print one every few seconds."""
    print(as_typed(line), file=sys.stderr, flush=True)


def run(given: argparse.Namespace) -> int:
    options = options_of(given)
    if given.submit is None:
        return build_or_check(given, options)[0]
    from connectx_toolkit.kaggle.account import (
        connected,  # takes half a second
        submissions_left,
    )

    with connected() as kaggle:
        left = submissions_left(kaggle)  # before the build, which takes a minute
        code, path = build_or_check(given, options)
        if code == DONE and path is not None:
            offer(kaggle, path, given.submit, left)
    return code


def offer(kaggle: "Kaggle", path: Path, message: str, left: int) -> None:
    """Submits an accepted file; on a terminal, only if whoever sits there agrees."""
    from connectx_toolkit.kaggle.account import submit

    if sys.stdin.isatty() and not agrees(f"submit {path} to Kaggle ({left} left today)? [y/N] "):
        tell("not submitted")
        return
    tell(f"uploading {path}")
    submitted = submit(kaggle, path, message)
    tell(f"submitted as {submitted.number}: {submitted.words}")
    tell(f"its games, when it has played some: python evaluate.py episodes {submitted.number}")


def agrees(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False


def judge_packages(file: Path, allowed: frozenset[str], report: Report) -> None:
    """Judges the packages that a finished file was seen to import by the rule of the build; ``allowed``: on the user's
    word."""
    seen = {entry.removeprefix("package ") for entry in report.figures.get("seen", ()) if entry.startswith("package ")}
    needed = needed_packages(sources_of(file)) if seen - KNOWN else {}
    for name in sorted(seen - KNOWN):
        if name in allowed:
            report.add("package", "note", ON_YOUR_WORD.format(name))
        elif name in needed:
            report.add("package", "unknown", unknown_package(name, file, needed[name]))
        else:
            report.add("package", "note", PERHAPS_WITHOUT.format(name))


def build_or_check(given: argparse.Namespace, options: Options) -> tuple[int, Path | None]:
    """The exit code, and the file that was accepted."""
    if given.check is not None:
        with Runner() as runner, finished_file(given.check) as file:
            runner.tell = tell
            report = check(file, runner, options.limits, options.slowdown, options.full)
            judge_packages(file, frozenset(given.allow_package), report)
        show(report, given.json, None)
        return CODES[report.verdict], given.check
    try:
        with sources_of_agent(given) as (name, inlined), Runner() as runner:
            runner.tell = tell
            output = output_of(given, name, inlined)
            report = build(inlined, output, options, runner, tell)
    except NotAccepted as refused:
        show(refused.report, given.json, None)
        return CODES[refused.report.verdict], None
    except Refused as refused:
        complain("build_submission.py", *map(str, refused.refusals))
        return REFUSED, None
    show(report, given.json, output)
    return DONE, output


def command_of(arguments: list[str]) -> tuple[str, Callable[[], int]]:
    """The command's name in messages, and what runs it. Exits with code 2 if the arguments are wrong."""
    return "build_submission.py", partial(run, parse_arguments(arguments))


main = partial(run_script, "build_submission")
