"""Builds the one file that Kaggle accepts from an agent, or checks any finished submission.

  python build_submission.py minimax                       agents/minimax.py -> submissions/minimax.py
  python build_submission.py my_agent.py -o submission.py  any agent file, with the helper modules beside it
  python build_submission.py lesson.ipynb                  a notebook's agent, with what it uses from other cells
  python build_submission.py --check submission.py         will Kaggle accept this .py or .tar.gz?
  python build_submission.py minimax --submit "depth 12"   build it and submit it (needs a Kaggle API token)

An agent is a Python file that ends in `def agent(obs, config)`, which returns a column as an int. It may import the
standard library, numpy, numba, torch, `connectx_core` of this toolkit, and modules beside it. Weights and tables are
files beside it, either opened by path or embedded:

  weights = np.load(Path(__file__).parent / "weights.npz")     the submission becomes a .tar.gz
  weights = np.load(io.BytesIO(read_data("weights.npz")))      connectx_core.weights.read_data: it stays one .py

The built file contains all modules in readable form, and embedded data as text. Its guard plays a legal column in time,
whatever the agent does. The file is written only if Kaggle's own environment accepts it, and if it plays the same moves
as its source.
"""

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from connectx_toolkit import api
from connectx_toolkit.cli.functions import add_options, parameters_of, values_of
from connectx_toolkit.cli.main import DONE, FAILED, NOT_JUDGED, REFUSED
from connectx_toolkit.cli.main import run as run_script
from connectx_toolkit.system.console import Parser, as_help, as_option, command, complain, prog, tell

if TYPE_CHECKING:
    from connectx_toolkit.builder.preflight.findings import Report
    from connectx_toolkit.kaggle.account import Kaggle

CODES = {"ACCEPT": DONE, "REJECT": FAILED, "NOT JUDGED": NOT_JUDGED}


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The options are those of ``build``; of them, ``check`` takes some."""
    parser = Parser(prog=prog("build"), description=as_help(__doc__ or ""))
    add_options(parser, api.build)
    agent, output = (action for action in parser._actions if action.dest in ("agent", "output"))
    agent.nargs, agent.required = "?", False
    usual = "submissions/AGENT.py, or .tar.gz if the agent names files beside it"
    output.help = f"file to write, a .py or a .tar.gz; it replaces only what was built before (default: {usual})"
    output.default = None
    finished = "check a finished .py or .tar.gz, or the file that a notebook writes, and build nothing"
    parser.add_argument("--check", type=Path, metavar="FILE", help=finished)
    submit = "submit the accepted file to Kaggle with this message; asks first on a terminal"
    parser.add_argument("--submit", metavar="MESSAGE", help=submit)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_version()
    return parser.parse_args(arguments)


def refuse_impossible(given: argparse.Namespace) -> None:
    """Raises ValueError if the command line asks for something impossible."""
    if (given.agent is None) == (given.check is None):
        raise ValueError("give either an agent to build or --check FILE; --help explains both")
    of_check = {each.name for each in parameters_of(api.check)}
    for each in parameters_of(api.build):
        is_given = getattr(given, each.name) not in (None, each.default)
        if given.check is not None and is_given and each.name not in of_check:
            raise ValueError(f"{as_option(each.name)} is for building; {as_option('check')} takes a file as it is")
    if given.submit is not None and given.check is not None and given.check.suffix == ".ipynb":
        raise ValueError(f"--check {given.check} checks what the notebook writes: build it to submit it")
    if given.submit is not None and not given.submit.strip():
        raise ValueError("--submit takes a message for Kaggle's list of your submissions, not an empty one")
    given.full = given.full or given.submit is not None


def show(report: "Report", as_json: bool) -> None:
    """Prints the verdict with its reasons, for people or for machines."""
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
        return
    from connectx_toolkit.system.table import console_for_tables, print_parts

    console = console_for_tables()
    table, verdict, *written = report.parts()
    print_parts([table], console)
    print_parts([verdict], console, "green" if report.accepted else "bold red")
    print_parts(written, console)


def run(given: argparse.Namespace) -> int:
    refuse_impossible(given)
    if given.submit is None:
        return build_or_check(given)[0]
    from connectx_toolkit.kaggle.account import connect_account, submissions_left  # takes half a second

    with connect_account() as kaggle:
        left = submissions_left(kaggle)  # before the build, which takes a minute
        code, path = build_or_check(given)
        if code == DONE and path is not None:
            offer(kaggle, path, given.submit, left)
    return code


def offer(kaggle: "Kaggle", path: Path, message: str, left: int) -> None:
    """Submits an accepted file; on a terminal, only if whoever sits there agrees."""
    from connectx_toolkit.kaggle.account import submit_file

    if sys.stdin.isatty() and not agrees(f"submit {path} to Kaggle ({left} left today)? [y/N] "):
        tell("not submitted")
        return
    tell(f"uploading {path}")
    submitted = submit_file(kaggle, path, message)
    tell(f"submitted as {submitted.number}: {submitted.words}")
    tell(f"its games, when it has played some: {command(f'evaluate episodes {submitted.number}')}")


def agrees(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False


def build_or_check(given: argparse.Namespace) -> tuple[int, Path | None]:
    """The exit code, and the file that was accepted."""
    if given.check is not None:
        given.file = given.check
        (file,), keywords = values_of(api.check, given)
        report = api.check(file, **keywords)
        show(report, given.json)
        return CODES[report.verdict], given.check
    from connectx_toolkit.builder.build import NotAccepted
    from connectx_toolkit.builder.source.refusals import Refused

    try:
        (agent,), keywords = values_of(api.build, given)
        report = api.build(agent, **keywords | {"output": given.output})
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
