"""How every command starts and ends: the three scripts of a checkout, and ``connectx``, which pip installs.

What can go wrong is caught here, and nowhere else: one line for what the user can mend, two for what is our fault.
"""

import os
import platform
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from importlib import import_module
from importlib.util import find_spec

from connectx_toolkit.console.parser import in_a_line, missing_package
from connectx_toolkit.console.programs import COMMANDS, ProcessFailed, complain
from connectx_toolkit.foreign import NothingLeft

DONE, FAILED, REFUSED, NOT_JUDGED, OUR_FAULT, STOPPED = 0, 1, 2, 3, 70, 130
EXIT_CODES = {  # of all commands; docs/reference/exit-codes.md has the same table
    DONE: "done; a submission is accepted",
    FAILED: "a submission is rejected; or a process has died; or nothing of what was to be read could be read",
    REFUSED: "the input is wrong, and a line says what to change; or an agent cannot be built",
    NOT_JUDGED: "a submission could not be judged: this machine lacks a package, Kaggle's folder or an idle processor",
    OUR_FAULT: "a fault of the toolkit; the second line names the file with the details",
    STOPPED: "stopped by Ctrl-C",
}
BAD_INPUT = (ValueError, OSError, sqlite3.Error, MemoryError)
NO_RESULT = (ProcessFailed, BrokenExecutor, NothingLeft)
GOES_ON = {  # what a stopped command says, by its name or that of its script
    "evaluate.py match": "games that the store holds are not played again",
    "evaluate.py tournament": "games that the store holds are not played again",
    "train.py": "the same command resumes book, replies, labels, openings and distill",
}
OURS = ("connectx", "connectx_toolkit", "agents")
WINDOWS = "it needs Linux or macOS; on Windows, install it in WSL (wsl --install)"
USAGE = """\
usage: connectx COMMAND ...   (connectx COMMAND --help explains each)

  evaluate   let agents play, compare them, analyse games: connectx evaluate my_agent.py negamax --rounds 20
  build      make one file that Kaggle accepts, or check one: connectx build my_agent.py -o submission.py
  train      train networks, and make agents of your models: connectx train --help
  board      play, watch and analyse on a page: connectx board minimax@2
"""


def run(script: str, arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code, one of ``EXIT_CODES``.

    Args:
        script: a key of ``COMMANDS``. The module of that command has a function ``command_of``, which takes the
            arguments and gives the command's name in messages, and a function that runs it and may return a code.
        arguments: by default those of this process.

    Raises:
        SystemExit: the arguments were refused by the parser, or asked for help.
    """
    name = f"{script}.py"
    if find_spec("fcntl") is None:
        complain(name, WINDOWS)
        return REFUSED
    try:
        module = import_module(f"connectx_toolkit.cli.{COMMANDS[script]}")
        name, work = module.command_of(list(sys.argv[1:] if arguments is None else arguments))
        return work() or DONE
    except KeyboardInterrupt as stop:
        words = str(stop) or GOES_ON.get(name) or GOES_ON.get(f"{script}.py", "")
        complain(name, f"stopped{words and '; '}{words}")
        return STOPPED
    except NO_RESULT as problem:
        complain(name, in_a_line(problem))
        return FAILED
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] in OURS:
            return _our_fault(name, problem)
        complain(name, missing_package(problem))
        return REFUSED
    except BAD_INPUT as problem:
        complain(name, in_a_line(problem))
        return REFUSED
    except Exception as problem:
        return _our_fault(name, problem)


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
    command, *arguments = sys.argv[1:] or [""]
    scripts = {word: script for script, word in COMMANDS.items()} | {"board": "evaluate"}
    if command in scripts:
        return run(scripts[command], [command, *arguments] if command == "board" else arguments)
    if command in ("", "-h", "--help"):
        print(USAGE, end="")
        return DONE if command else REFUSED
    print(f"connectx: no command {command!r}: it should be evaluate, build, train or board", file=sys.stderr)
    return REFUSED
