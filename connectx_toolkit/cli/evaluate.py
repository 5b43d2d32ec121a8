"""The command line of evaluate.py: finds the command, reads its options, and says what went wrong in one line.

What takes long to import is imported where it is used, so that --help and a misspelt option are answered at once.
"""

import argparse
import sqlite3
import sys
from collections.abc import Callable, Sequence

from connectx_toolkit.cli.options import OPTIONS, misspelt_command
from connectx_toolkit.console.parser import Parser, in_a_line, missing_package

STOPPED = "games that the store holds are not played again"


def _command(name: str) -> Callable[[argparse.Namespace], None]:
    if name == "board":
        from connectx_toolkit.board.server import board

        return board
    from connectx_toolkit.cli.commands import COMMANDS

    return COMMANDS[name]


def main(argv: Sequence[str] | None = None) -> None:
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments.pop(0) if arguments and arguments[0] in OPTIONS else ""
    parser = Parser(prog=f"evaluate.py {command}".rstrip())
    OPTIONS[command](parser)
    if not command and (meant := misspelt_command(arguments)):
        parser.error(meant)
    options = parser.parse_args(arguments)
    try:
        _command(command)(options)
    except ModuleNotFoundError as problem:
        parser.error(missing_package(problem))
    except (ValueError, OSError, sqlite3.Error) as problem:
        parser.error(in_a_line(problem))
    except RuntimeError as problem:  # a process that did not start, or died
        parser.exit(1, f"{parser.prog}: {in_a_line(problem)}\n")
    except KeyboardInterrupt as stop:
        words = str(stop) or (STOPPED if command in ("match", "tournament") else "")
        parser.exit(130, f"{parser.prog}: stopped{words and '; '}{words}\n")
