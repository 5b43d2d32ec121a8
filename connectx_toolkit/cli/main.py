"""How every command starts and ends: the three scripts of a checkout, and ``connectx``, which pip installs.

What can go wrong is caught here, and nowhere else: one line for what the user can mend, two for what is our fault.
The commands' modules import what takes long inside their functions: --help and a misspelt option are answered at once.
"""

import difflib
import os
import platform
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from connectx_toolkit.system.console import (
    DOOR,
    SCRIPTS,
    Parser,
    ProcessFailed,
    complain,
    in_a_line,
    missing_package,
    prog,
    shell,
)
from connectx_toolkit.system.files import our_agents
from connectx_toolkit.system.foreign import NothingLeft

if TYPE_CHECKING:
    from connectx_toolkit.cli.functions import Command

DONE, FAILED, REFUSED, NOT_JUDGED, OUR_FAULT, STOPPED, READER_LEFT = 0, 1, 2, 3, 70, 130, 141
EXIT_CODES = {  # of all commands; docs/reference/exit-codes.md has the same table
    DONE: "done; a submission is accepted; or a board was stopped by Ctrl-C",
    FAILED: "a submission is rejected; or a process has died; or none of the files could be read",
    REFUSED: "the input is wrong, and a line says what to change; or an agent cannot be built",
    NOT_JUDGED: "a submission could not be judged: this machine lacks a package, Kaggle's folder or an idle processor",
    OUR_FAULT: "a fault of the toolkit; the second line names the file with the details",
    STOPPED: "stopped by Ctrl-C; the board, which has no other end, gives 0",
    READER_LEFT: "what read the output has ended, as `head -1` does: nothing is said, and what was done is kept",
}
BAD_INPUT = (ValueError, OSError, sqlite3.Error, MemoryError)
NO_RESULT = (ProcessFailed, BrokenExecutor, NothingLeft)
GOES_ON = {  # what a stopped command says that does not say it itself, by what follows connectx
    "evaluate match": "games that the file holds are not played again",
    "evaluate tournament": "games that the file holds are not played again",
    "evaluate exam": "positions that are solved and answers are kept; the same command goes on",
}
OURS = ("connectx_core", "connectx_toolkit", "agents")
USAGE = """\
usage: connectx COMMAND ...   (connectx COMMAND --help explains each, connectx --version)

  evaluate   let agents play, compare them, analyse games: connectx evaluate my_agent.py negamax --rounds 20
  build      make one file that Kaggle accepts, or check one: connectx build my_agent.py -o submission.py
  train      train networks, and make agents of your models: connectx train --help
  board      play, watch and analyse on a page: connectx board minimax@2

The commands of evaluate may stand alone: connectx match, tournament, exam, analyse, episodes, explore, report, list.
"""


def run(word: str, arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code, one of ``EXIT_CODES``.

    Args:
        word: "evaluate", "build" or "train"; "" if it is the first of the arguments, or a command of evaluate.
        arguments: by default those of this process.

    Raises:
        SystemExit: the arguments were refused by the parser, or asked for help.
    """
    words = word
    os.environ[DOOR] = Path(sys.argv[0]).stem
    _open_streams()
    try:
        try:
            words, work = command_of(word, list(sys.argv[1:] if arguments is None else arguments))
            return work() or DONE
        finally:
            sys.stdout.flush()  # at Python's end it would be too late to say what went wrong
    except (Exception, KeyboardInterrupt) as problem:
        return exit_code_of(problem, words)
    finally:
        _drop_unwritten()


def exit_code_of(problem: Exception | KeyboardInterrupt, words: str) -> int:
    """The exit code of a command that ended by this. Says in a line what went wrong.

    Args:
        words: the command's, after "connectx".
    """
    name = prog(words)
    if isinstance(problem, BrokenPipeError):
        return READER_LEFT
    if isinstance(problem, KeyboardInterrupt):
        more = str(problem) or GOES_ON.get(words, "")
        complain(name, f"stopped{more and '; '}{more}")
        return STOPPED
    if isinstance(problem, ModuleNotFoundError) and (problem.name or "").partition(".")[0] not in OURS:
        complain(name, missing_package(problem))
        return REFUSED
    if isinstance(problem, NO_RESULT + BAD_INPUT):
        complain(name, in_a_line(problem))
        return FAILED if isinstance(problem, NO_RESULT) else REFUSED
    return _our_fault(name, problem)


def _open_streams() -> None:
    """Opens nothing in the place of closed streams (``>&-``, daemons): a file of games would be what ``print`` gets."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets this number, the lowest one that is free
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", "") == "strict":  # a Windows code page lacks many letters of names
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def _drop_unwritten() -> None:
    """Leaves nothing that Python would try to write once more at its end, to a pipe that is closed or a full disk."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def command_of(word: str, arguments: list[str]) -> tuple[str, Callable[[], int | None]]:
    """What follows ``connectx``, and what runs it. Exits with code 2 if the arguments are wrong."""
    if word == "evaluate":
        return evaluate_command_of(arguments)
    if word:
        return import_module(f"connectx_toolkit.cli.{word}").command_of(arguments)
    first = arguments[0] if arguments else "--help"
    if first in ("-h", "--help"):
        print(USAGE, end="")
        sys.exit(DONE if arguments else REFUSED)
    names = [*SCRIPTS, *filter(None, evaluate_commands())]
    if first not in (*names, "--version"):
        Parser(prog=prog("")).error(f"no command {first!r}: it should be one of {', '.join(names)}")
    return evaluate_command_of(arguments)


def _our_fault(name: str, problem: Exception) -> int:
    """Says in two lines what has happened; the traceback goes to a file, to standard error if there is no place."""
    details = "".join(traceback.format_exception(problem))
    try:
        handle, path = tempfile.mkstemp(".txt", "connectx-fault-")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{sys.argv}\nPython {sys.version} on {platform.platform()}\n\n{details}")
    except OSError:
        print(details, file=sys.stderr)
        path = "the lines above"
    complain(name, f"{type(problem).__name__}: {in_a_line(problem)}")
    complain(name, f"this is the toolkit's fault, not yours: please report it in the repository's issues with {path}")
    return OUR_FAULT


def main() -> int:
    """The command ``connectx``."""
    word = next(iter(sys.argv[1:2]), "")
    return run(word, sys.argv[2:]) if word in SCRIPTS else run("")


# evaluate.py


def evaluate_commands() -> "dict[str, Command]":
    """The commands of evaluate.py by name, in the order of --help; "" is the one without a name."""
    from connectx_toolkit.cli.functions import COMMANDS

    return COMMANDS


def evaluate_command_of(arguments: list[str]) -> tuple[str, Callable[[], int | None]]:
    """As ``command_of``, of evaluate.py."""
    commands = evaluate_commands()
    name = arguments.pop(0) if arguments and arguments[0] in commands else ""
    parser = Parser(prog=prog(f"evaluate {name}".rstrip()))
    commands[name].add_options(parser)
    if not name:
        parser.add_version()
        named = {name: command.summary for name, command in commands.items() if name}
        parser.commands = f"or a command: {', '.join(named)}\n"
        lines = (f"  {shell('evaluate')} {name:<12} {summary}\n" for name, summary in named.items())
        parser.epilog = f"{parser.epilog}\nother commands, each with --help\n{''.join(lines)}"
        if meant := misspelt_command(arguments, named):
            parser.error(meant)
    options = parser.parse_args(arguments)
    return f"evaluate {name}".rstrip(), partial(options.run, options)


def misspelt_command(arguments: Sequence[str], names: Iterable[str]) -> str:
    """What to say if the first argument is no agent but close to a command's name; else ""."""
    if not arguments or arguments[0].startswith("-") or os.path.exists(arguments[0]):
        return ""
    close = difflib.get_close_matches(arguments[0], [*names], 1)
    if not close or arguments[0] in our_agents() or set("@~") & set(arguments[0]):
        return ""
    return f"no agent or command {arguments[0]!r}: did you mean {close[0]}? Commands are {', '.join(names)}"
