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
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from connectx_toolkit.builder.build import POSITIONS, NotAccepted, Options
from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.builder.source.refusals import Refused
from connectx_toolkit.builder.submission import (
    MEMORY_LIMIT,
    SIZE_LIMIT,
    built,
    checked,
    options_of,
    packages_of,
)
from connectx_toolkit.cli.main import DONE, FAILED, NOT_JUDGED, REFUSED
from connectx_toolkit.cli.main import run as run_script
from connectx_toolkit.system.console import Parser, as_help, command, complain, prog, tell
from connectx_toolkit.system.table import console_for_tables, print_parts

if TYPE_CHECKING:
    from connectx_toolkit.kaggle.account import Kaggle

CODES = {"ACCEPT": DONE, "REJECT": FAILED, "NOT JUDGED": NOT_JUDGED}


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = Parser(prog=prog("build"), description=as_help(__doc__ or ""))
    add = parser.add_argument
    agent = "agent to build: a name from agents/, a file, or a notebook (lesson.ipynb, or lesson.ipynb:FUNCTION)"
    add("agent", nargs="?", help=agent)
    where = "file to write (default: submissions/AGENT.py, or .tar.gz if the agent names files beside it)"
    add("-o", "--output", type=Path, metavar="FILE", help=f"{where}; replaces only files that this script has built")
    finished = "check a finished .py or .tar.gz, or the file that a notebook writes, and build nothing"
    add("--check", type=Path, metavar="FILE", help=finished)
    add("--format", choices=("py", "tar.gz"), help="kind of file to write (default: by the ending of -o)")
    data = "file or folder to add to the archive; may be repeated. Files beside the agent that a string in its source "
    data += "names are added anyway, but for credentials and databases"
    add("--data", action="append", default=[], type=Path, metavar="FILE", help=data)
    maker = f"{prog('train book')} --second --games FILE"
    book = f"second seat's book to build into perfect, as {maker} makes it (default: ours)"
    add("--book", type=Path, metavar="FILE", help=book)
    precision = "precision of the float arrays in embedded data files (default: as they are); the built file is then "
    precision += "compared with the source on the same rounded arrays"
    add("--dtype", choices=("float16", "int8"), help=precision)
    code = "leave out the machine code of the toolkit's search and solver: numba then compiles them at every load"
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
        "--size-limit",
        type=float,
        default=SIZE_LIMIT,
        metavar="MIB",
        help="largest submission, in MiB (default: %(default)g)",
    )
    memory = "memory that the agent may use, in MiB (default: %(default)g)"
    add("--memory-limit", type=float, default=MEMORY_LIMIT, metavar="MIB", help=memory)
    submit = "submit the accepted file to Kaggle with this message; asks first on a terminal"
    add("--submit", metavar="MESSAGE", help=submit)
    add("--json", action="store_true", help="print the report as JSON")
    return parser.parse_args(arguments)


def options_from(given: argparse.Namespace) -> Options:
    """The options of a build or a check. Raises ValueError if the command line asks for something impossible."""
    if (given.agent is None) == (given.check is None):
        raise ValueError("give either an agent to build or --check FILE; --help explains both")
    of_building = [name for name in ("output", "format", "data", "dtype", "book") if getattr(given, name)]
    of_building += [] if given.machine_code else ["no_machine_code"]
    if given.check is not None and of_building:
        raise ValueError(f"--{of_building[0].replace('_', '-')} is for building; --check takes a file as it is")
    if given.submit is not None and given.check is not None and given.check.suffix == ".ipynb":
        raise ValueError(f"--check {given.check} checks what the notebook writes: build it to submit it")
    if given.submit is not None and not given.submit.strip():
        raise ValueError("--submit takes a message for Kaggle's list of your submissions, not an empty one")
    is_full = given.full or given.submit is not None
    return options_of(
        given.dtype, given.positions, given.slowdown, is_full, given.size_limit, given.memory_limit, given.machine_code
    )


def show(report: Report, as_json: bool) -> None:
    """Prints the verdict with its reasons, for people or for machines."""
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
        return
    console = console_for_tables()
    table, verdict, *written = report.parts()
    console.print(table)
    console.print(verdict, style="green" if report.accepted else "bold red", soft_wrap=True)
    print_parts(written, console)


def run(given: argparse.Namespace) -> int:
    options = options_from(given)
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
    tell(f"its games, when it has played some: {command(f'evaluate episodes {submitted.number}')}")


def agrees(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False


def build_or_check(given: argparse.Namespace, options: Options) -> tuple[int, Path | None]:
    """The exit code, and the file that was accepted."""
    allowed = packages_of(given.allow_package)
    if given.check is not None:
        report = checked(given.check, options, allowed, tell)
        show(report, given.json)
        return CODES[report.verdict], given.check
    try:
        report = built(
            given.agent, given.output, options, tell, kind=given.format or "", data=given.data, book=given.book,
            allowed=allowed,
        )  # fmt: skip
    except NotAccepted as refused:
        show(refused.report, given.json)
        return CODES[refused.report.verdict], None
    except Refused as refused:
        complain(prog("build"), *map(str, refused.refusals))
        return REFUSED, None
    show(report, given.json)
    return DONE, report.written


def command_of(arguments: list[str]) -> tuple[str, Callable[[], int]]:
    """What follows ``connectx``, and what runs it. Exits with code 2 if the arguments are wrong."""
    return "build", partial(run, parse_arguments(arguments))


main = partial(run_script, "build")
