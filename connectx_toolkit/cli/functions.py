"""The commands of evaluate.py that are functions of ``connectx_toolkit.api``: one option for each of their keywords.

A keyword's type and default are those of the signature, and its help is what the docstring says of it.
"""

import argparse
import inspect
import json
import re
from collections.abc import Callable, Sequence
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from connectx_toolkit import api
from connectx_toolkit.cli.options import AGENTS, Command, any_seed, from_one, number, parse_config
from connectx_toolkit.system.console import as_help

OPTIONS = {"n_rounds": "rounds", "workers": "concurrency", "overage": "bank"}  # by the keyword
KINDS: dict[Any, tuple[Callable[[str], Any], str]] = {
    int: (from_one, "N"), float: (number, "NUMBER"), dict: (parse_config, "NAME=NUMBER,..."), str: (str, "NAME"),
}  # fmt: skip
STORED = "what is done is kept; the same command goes on"


def told(function: Callable) -> dict[str, str]:
    """What the docstring says of each argument."""
    text = (inspect.getdoc(function) or "").partition("Args:\n")[2].partition("\n\nRaises:")[0]
    found = re.findall(r"^    (\w[\w, ]*): (.*(?:\n {8}.*)*)", text, re.M)
    return {
        name: " ".join(as_help(words).split()).replace("``", "") for names, words in found for name in names.split(", ")
    }


def add_options(parser: argparse.ArgumentParser, function: Callable) -> None:
    """An argument or option for each parameter, but for what only callables need."""
    words = told(api.match) | {name: text for name, text in told(function).items() if ": as for" not in f": {text}"}
    words |= {"agent1": words["agent1"], "agent2": "the other one"} if "agent1" in words else {}
    for name, parameter in inspect.signature(function).parameters.items():
        flag, default = f"--{OPTIONS.get(name, name).replace('_', '-')}", parameter.default
        annotation, is_list = parameter.annotation, parameter.kind is parameter.VAR_POSITIONAL
        kinds = get_args(annotation) if isinstance(annotation, UnionType) else [annotation]
        if is_list or default is parameter.empty:
            parser.add_argument(name, help=words[name], nargs="+" if is_list else None)
        elif default is False:
            parser.add_argument(flag, dest=name, action="store_true", help=words[name])
        elif name != "isolate":
            choices = get_args(kinds[0]) if get_origin(kinds[0]) is Literal else None
            kind, metavar = KINDS.get(float if get_origin(kinds[0]) is Sequence else kinds[0], KINDS[str])
            more: dict[str, Any] = {"nargs": 2, "metavar": ("ELO0", "ELO1")} if name == "sprt" else {"metavar": metavar}
            more = {"choices": choices} if choices else more | {"type": any_seed if name == "seed" else kind}
            parser.add_argument(flag, dest=name, default=default, help=words[name], **more)  # type: ignore[arg-type]


def command(function: Callable, summary: str, examples: str) -> Command:
    """The command that calls a function, prints what it gives, and ends as one that was stopped if it was."""

    def options_of(parser: argparse.ArgumentParser) -> None:
        parser.description = as_help((inspect.getdoc(function) or "").partition("\n\n")[0].replace("``", ""))
        parser.epilog = as_help(f"{AGENTS}\nexamples\n{examples}")
        parser.set_defaults(run=run)
        add_options(parser, function)
        if function is api.exam:
            parser.add_argument("--json", action="store_true", help="print the figures as JSON, not as tables")

    def run(options: argparse.Namespace) -> None:
        from connectx_toolkit.system.table import print_parts

        parameters = inspect.signature(function).parameters
        given = {name: getattr(options, name) for name in parameters if name != "isolate"}
        plain = [value for name in [*given] if name in ("agent1", "agent2", "agents")
                 for value in ([given.pop(name)] if name != "agents" else given.pop(name))]  # fmt: skip
        found = function(*plain, **given)
        if vars(options).get("json"):
            print(json.dumps(found.document(), indent=2))
        elif function is not api.get_win_percentages:  # which prints
            print_parts(found.parts())
        if found.is_interrupted:
            is_kept = function is not api.get_win_percentages
            raise KeyboardInterrupt(STORED if is_kept else "games of --rounds are not stored; those of match are")

    return Command(options_of, summary)


COMMANDS = {
    "": command(api.get_win_percentages, "", """\
  python evaluate.py minimax negamax --rounds 20
  python evaluate.py my_agent.py minimax@2 --rounds 100 --concurrency 2
"""),
    "match": command(api.match, "find out which of two agents is stronger", """\
  python evaluate.py match my_agent.py minimax@4 --pairs 100 --concurrency 2
  python evaluate.py match my_agent.py perfect~20 --sprt 0 50     recommended: stops when the games decide
"""),
    "tournament": command(api.tournament, "rate many agents", """\
  python evaluate.py tournament my_agent.py n_step minimax@4 random --pairs 20
  python evaluate.py tournament my_agent.py minimax@2 minimax@4 perfect~20 --gauntlet
  python evaluate.py tournament perfect minimax n_step leftmost random --pairs 50 --concurrency 2 --ladder runs/ladder
"""),
    "exam": command(api.exam, "find out how many of an agent's moves are right, and where it is weak", """\
  python evaluate.py exam my_agent.py                           300 positions of the standard exam
  python evaluate.py exam my_agent.py minimax@4 --count 1000 --html runs/exam.html
  python evaluate.py exam my_agent.py --seed 7                  fresh positions, solved first (a minute or two)
  python evaluate.py exam my_agent.py --positions runs/mistakes.txt
  python evaluate.py exam my_agent.py --positions runs/games.sqlite --me my_agent.py
"""),
}  # fmt: skip
