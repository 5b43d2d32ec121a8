"""A command is a function: its arguments are those of the signature, and their help is what the docstring says of them.

The functions are those of ``connectx_toolkit.api``. A training method is declared by its Config, a dataclass whose
fields have their help; its options are made here as well. Names are the same at both doors.
"""

import argparse
import inspect
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from connectx_toolkit import api
from connectx_toolkit.cli.options import AGENTS, Command, any_seed, from_one, number, parse_config
from connectx_toolkit.system.console import as_help
from connectx_toolkit.system.files import ROOT

FLAGS = {"n_rounds": "rounds"}  # the course's function has its own word
ALIASES = {"workers": "concurrency", "overage": "bank", "seconds": "time"}  # of 0.4 and before
SHORT = {"output": "o"}
PAIRS = {"sprt": ("ELO0", "ELO1"), "names": ("FIRST", "SECOND")}
NOT_TYPED = {"isolate"}  # what only callables need
KINDS: dict[Any, tuple[Callable[[str], Any], str]] = {
    int: (from_one, "N"),
    float: (number, "NUMBER"),
    dict: (parse_config, "NAME=NUMBER,..."),
    str: (str, "NAME"),
    Path: (Path, "FILE"),
}
STORED = "what is done is kept; the same command goes on"


class Parameter(NamedTuple):
    """An argument of a command.

    kind: of a value: a type, or a Literal.
    default: ``MISSING`` if it has to be given.
    many: "+" or "*" of a positional argument that takes several, "append" of an option that may be repeated.
    shown: the default in words; "" if the help says it.
    """

    name: str
    kind: Any
    default: Any
    help: str
    many: str = ""
    metavar: str = ""
    short: str = ""
    shown: str = ""


def told(function: Callable) -> dict[str, str]:
    """What the docstring says of each argument."""
    text = (inspect.getdoc(function) or "").partition("Args:\n")[2].partition("\n\nRaises:")[0]
    found = re.findall(r"^    (\w[\w, ]*): (.*(?:\n {8}.*)*)", text, re.M)
    texts = {names: " ".join(as_help(words).split()).replace("``", "") for names, words in found}
    return {name: words for names, words in texts.items() for name in names.split(", ")}


def parameters_of(declared: Callable) -> Iterator[Parameter]:
    """The arguments of a function, or of a training method's Config."""
    if is_dataclass(declared):
        for item in fields(declared):
            inside, help_text = item.metadata["in_run"], as_help(item.metadata["help"])
            shown = (
                f"{inside} in the folder of --run" if inside else "none" if item.default == "" else _short(item.default)
            )
            default = MISSING if item.metadata["comes_first"] else item.default
            metavar = "PATH" if item.metadata["reads"] else ""
            yield Parameter(item.name, item.type, default, help_text, "", metavar, item.metadata["short"], shown)
        return
    words = told(api.match) | told(api.build)  # of which other docstrings say: as for these
    words |= {name: text for name, text in told(declared).items() if not text.startswith("as for ")}
    for name, parameter in inspect.signature(declared).parameters.items():
        if name in NOT_TYPED:
            continue
        kinds = [kind for kind in get_args(parameter.annotation) if kind is not NoneType] or [parameter.annotation]
        if get_origin(parameter.annotation) is Literal:
            kinds = [parameter.annotation]
        is_list = parameter.kind is parameter.VAR_POSITIONAL
        many = "+" if is_list else "append" if parameter.default == () else ""
        kind = next((Path for kind in kinds if kind is PathLike and api.AgentSpec not in kinds), kinds[0])
        kind = float if get_origin(kind) is Sequence else kind
        default = MISSING if is_list or parameter.default is parameter.empty else parameter.default
        yield Parameter(name, kind, default, words[name], many, short=SHORT.get(name, ""))


def _short(default: Any) -> str:
    """A file of the toolkit by its place in it."""
    return str(default.relative_to(ROOT) if isinstance(default, Path) and default.is_relative_to(ROOT) else default)


def add_options(parser: argparse.ArgumentParser, declared: Callable) -> None:
    """An argument or option for each parameter: ``table_bits: int = 25`` becomes ``--table-bits N``, a bool a flag."""
    for each in parameters_of(declared):
        read, metavar = KINDS.get(each.kind, (str, "NAME"))
        if is_dataclass(declared):  # which checks its values itself
            read, metavar = each.kind, each.kind.__name__.upper()
        help_text = f"{each.help} (default: {each.shown})" if each.shown and each.kind is not bool else each.help
        if each.default is MISSING:
            parser.add_argument(each.name, type=read, help=help_text, nargs=each.many or None)
            continue
        flag = FLAGS.get(each.name, each.name).replace("_", "-")
        flags = [*([f"-{each.short.strip('-')}"] if each.short else []), f"--{flag}"]
        more: dict[str, Any] = {"type": any_seed if each.name == "seed" else read, "metavar": each.metavar or metavar}
        if each.kind is bool:
            flags = [f"--no-{flag}"] if each.default else flags
            more = {"action": "store_false" if each.default else "store_true"}
        elif get_origin(each.kind) is Literal:
            more = {"choices": get_args(each.kind)}
        elif each.name in PAIRS:
            more |= {"nargs": 2, "metavar": PAIRS[each.name]}
        elif each.many:
            more |= {"action": "append"}
        default = None if each.many else each.default  # argparse appends to a list alone
        parser.add_argument(*flags, dest=each.name, default=default, help=help_text, **more)
        if old := ALIASES.get(each.name):
            more.pop("metavar", None)
            parser.add_argument(f"--{old}", dest=each.name, default=argparse.SUPPRESS, help=argparse.SUPPRESS, **more)


def values_of(function: Callable, given: argparse.Namespace) -> tuple[list[Any], dict[str, Any]]:
    """The positional and the keyword arguments of a call."""
    places, keywords = list[Any](), dict[str, Any]()
    for each in parameters_of(function):
        value = getattr(given, each.name)
        if each.default is not MISSING:
            keywords[each.name] = each.default if value is None else value
        else:
            places += value if each.many else [value]
    return places, keywords


def command(function: Callable, summary: str, examples: str) -> Command:
    """The command that calls a function, prints what it gives, and ends as one that was stopped if it was."""

    def add(parser: argparse.ArgumentParser) -> None:
        parser.description = as_help((inspect.getdoc(function) or "").partition("\n\n")[0].replace("``", ""))
        parser.epilog = as_help(f"{AGENTS}\nexamples\n{examples}")
        parser.set_defaults(run=run)
        add_options(parser, function)
        if function is api.exam:
            parser.add_argument("--json", action="store_true", help="print the figures as JSON, not as tables")

    def run(options: argparse.Namespace) -> None:
        from connectx_toolkit.system.table import print_parts

        places, keywords = values_of(function, options)
        found = function(*places, **keywords)
        if vars(options).get("json"):
            print(json.dumps(found.document(), indent=2))
        elif function is not api.get_win_percentages:  # which prints
            print_parts(found.parts())
        if found.is_interrupted:
            is_kept = function is not api.get_win_percentages
            raise KeyboardInterrupt(STORED if is_kept else "games of --rounds are not stored; those of match are")

    return Command(add, summary)


COMMANDS = {
    "": command(api.get_win_percentages, "", """\
  python evaluate.py minimax negamax --rounds 20
  python evaluate.py my_agent.py minimax@2 --rounds 100 --workers 2
"""),
    "match": command(api.match, "find out which of two agents is stronger", """\
  python evaluate.py match my_agent.py minimax@4 --pairs 100 --workers 2
  python evaluate.py match my_agent.py perfect~20 --sprt 0 50     recommended: stops when the games decide
"""),
    "tournament": command(api.tournament, "rate many agents", """\
  python evaluate.py tournament my_agent.py n_step minimax@4 random --pairs 20
  python evaluate.py tournament my_agent.py minimax@2 minimax@4 perfect~20 --gauntlet
  python evaluate.py tournament perfect minimax n_step leftmost random --pairs 50 --workers 2 --ladder runs/ladder
"""),
    "exam": command(api.exam, "find out how many of an agent's moves are right, and where it is weak", """\
  python evaluate.py exam my_agent.py                           300 positions of the standard exam
  python evaluate.py exam my_agent.py minimax@4 --count 1000 --html runs/exam.html
  python evaluate.py exam my_agent.py --seed 7                  fresh positions, solved first (a minute or two)
  python evaluate.py exam my_agent.py --positions runs/mistakes.txt
"""),
}  # fmt: skip
