"""The command line of evaluate.py: finds the command and reads its options.

The modules of the commands import what takes long inside their functions: --help and a misspelt option are answered
at once.
"""

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from connectx_toolkit.catalogue import our_agents
from connectx_toolkit.cli import analyse, board, episodes, explore, games, list_agents, rematch, report, scout
from connectx_toolkit.cli.main import run
from connectx_toolkit.console.parser import Parser


class Command(NamedTuple):
    """A command, as its module declares it."""

    add_options: Callable[[argparse.ArgumentParser], None]  # also sets ``run``, the function that takes the options
    summary: str = ""  # for --help


COMMANDS = {  # in the order of --help
    "": Command(games.add_rounds),
    "match": Command(games.add_match, "find out which of two agents is stronger"),
    "tournament": Command(games.add_tournament, "rate many agents"),
    "report": Command(report.add_options, "make a ladder and a page from stored games"),
    "analyse": Command(analyse.add_options, "give every move of your games its exact score"),
    "episodes": Command(episodes.add_options, "fetch a submission's games from Kaggle and analyse them"),
    "rematch": Command(rematch.add_options, "see whether a new agent repeats old mistakes"),
    "explore": Command(explore.add_options, "see what was played in a position, and how it ended"),
    "scout": Command(scout.add_options, "see what an opponent repeats, and the line that beats it"),
    "list": Command(list_agents.add_options, "list the agents of the toolkit, with their strength"),
    "board": Command(board.add_options, "play, watch and analyse on a page"),
}


def listed() -> str:
    """The commands that have a name, for --help."""
    lines = [f"  python evaluate.py {name:<12} {command.summary}\n" for name, command in COMMANDS.items() if name]
    return f"\nother commands, each with --help\n{''.join(lines)}"


def command_of(arguments: list[str]) -> tuple[str, Callable[[], int | None]]:
    """The command's name in messages, and what runs it. Exits with code 2 if the arguments are wrong."""
    name = arguments.pop(0) if arguments and arguments[0] in COMMANDS else ""
    parser = Parser(prog=f"evaluate.py {name}".rstrip())
    COMMANDS[name].add_options(parser)
    if not name:
        parser.epilog = f"{parser.epilog}{listed()}"
        if meant := misspelt_command(arguments):
            parser.error(meant)
    options = parser.parse_args(arguments)
    return parser.prog, partial(options.run, options)


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
