"""The command line of evaluate.py: finds the command and reads its options.

What takes long to import is imported where it is used, so that --help and a misspelt option are answered at once.
"""

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import NamedTuple

from connectx_toolkit.catalogue import our_agents
from connectx_toolkit.cli import evaluate_options as options_of
from connectx_toolkit.cli.main import run
from connectx_toolkit.console.parser import Parser


class Command(NamedTuple):
    """A command: its options, and where the function is that takes them. Its module is imported when it runs."""

    add_options: Callable[[argparse.ArgumentParser], None]
    module: str  # of connectx_toolkit
    function: str

    def run(self, options: argparse.Namespace) -> int | None:
        return getattr(import_module(f"connectx_toolkit.{self.module}"), self.function)(options)


COMMANDS = {
    "": Command(options_of.add_rounds, "cli.games", "rounds"),
    "match": Command(options_of.add_match, "cli.games", "match"),
    "tournament": Command(options_of.add_tournament, "cli.games", "tournament"),
    "report": Command(options_of.add_report, "cli.report", "report"),
    "analyse": Command(options_of.add_analyse, "cli.analyse", "analyse"),
    "rematch": Command(options_of.add_rematch, "cli.rematch", "rematch"),
    "episodes": Command(options_of.add_episodes, "cli.episodes", "episodes"),
    "explore": Command(options_of.add_explore, "cli.explore", "explore"),
    "scout": Command(options_of.add_scout, "cli.scout", "scout_opponents"),
    "list": Command(options_of.add_list, "cli.list_agents", "list_agents"),
    "board": Command(options_of.add_board, "board.server", "board"),
}


def command_of(arguments: list[str]) -> tuple[str, Callable[[], int | None]]:
    """The command's name in messages, and what runs it. Exits with code 2 if the arguments are wrong."""
    name = arguments.pop(0) if arguments and arguments[0] in COMMANDS else ""
    parser = Parser(prog=f"evaluate.py {name}".rstrip())
    COMMANDS[name].add_options(parser)
    if not name and (meant := misspelt_command(arguments)):
        parser.error(meant)
    return parser.prog, partial(COMMANDS[name].run, parser.parse_args(arguments))


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs evaluate.py; raises SystemExit if it does not succeed."""
    if code := run("evaluate", arguments):
        sys.exit(code)


def misspelt_command(arguments: Sequence[str]) -> str:
    """What to say if the first argument is no agent but close to a command; else ""."""
    if not arguments or arguments[0].startswith("-") or os.path.exists(arguments[0]):
        return ""
    close = difflib.get_close_matches(arguments[0], [*filter(None, COMMANDS)], 1)
    if not close or arguments[0] in our_agents() or set("@~") & set(arguments[0]):
        return ""
    commands = ", ".join(filter(None, COMMANDS))
    return f"no agent or command {arguments[0]!r}: did you mean {close[0]}? Commands are {commands}"
