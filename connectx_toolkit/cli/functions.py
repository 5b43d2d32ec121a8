"""Makes each command's options from the signature of its function, and their help from the function's docstring.

The functions are those of ``connectx_toolkit.api``. A training method is declared by its Config, a dataclass whose
fields have their help; its options are made here as well. So names are the same on the command line and in Python.
"""

import argparse
import inspect
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import MISSING, fields, is_dataclass
from math import isfinite
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from connectx_toolkit import api
from connectx_toolkit.system.console import FLAGS, as_help, shell
from connectx_toolkit.system.files import ROOT

SHORT = {"output": "o"}
METAVARS = {"sprt": ("ELO0", "ELO1"), "names": ("FIRST", "SECOND")}
MAY_BE_NONE = (api.board, api.explore)  # functions that take no agent, or no move, as well
PRINT = (api.get_win_percentages, api.board)  # functions that print themselves, and have no --json
READ = {  # arguments for which - is standard input
    api.match: ["openings"], api.tournament: ["openings"], api.exam: ["positions"], api.analyse: ["games"],
    api.board: ["game", "practise"],
}  # fmt: skip
TAKE_AGENTS = (api.get_win_percentages, api.match, api.tournament, api.exam, api.board)
NOT_TYPED = {"isolate"}  # what only callables need


def parse_config(text: str) -> dict:
    """``rows=5,columns=4`` as a dict; values are JSON.

    Raises argparse.ArgumentTypeError: an item is not NAME=NUMBER, or names what another has named.
    """
    config = dict[str, Any]()
    for item in text.split(","):
        name, separator, value = item.partition("=")
        if name in config:
            raise argparse.ArgumentTypeError(f"the configuration has {name} twice")
        try:
            config[name] = json.loads(value)
        except json.JSONDecodeError:
            separator = ""
        if not (name and separator):
            raise argparse.ArgumentTypeError(f"an item of the configuration should be NAME=NUMBER, not {item!r}")
    return config


def read_number(kind: Callable[[str], float]) -> Callable[[str], Any]:
    """Reads what is a number. Other texts stay: the function's own check says what was expected."""

    def read(text: str) -> Any:
        with suppress(ValueError):
            return kind(text)
        return text

    return read


KINDS: dict[Any, tuple[Callable[[str], Any], str]] = {
    int: (read_number(int), "N"),
    float: (read_number(float), "NUMBER"),
    dict: (parse_config, "NAME=NUMBER,..."),
    str: (str, "NAME"),
    Path: (Path, "FILE"),
}
STORED = "what is done is kept; the same command goes on"
AGENT_FORMS = f"""\
An agent is one of
  minimax, perfect, ...   an agent of the toolkit ({shell("evaluate list")})
  random, negamax         an agent of Kaggle's
  my_agent.py             a file; it is loaded as on Kaggle, before every game
  minimax@4               minimax that searches 4 plies, whatever the clock says
  perfect~10              any named agent that plays a random move 10% of the time; minimax@4~10 does both
"""


class Command(NamedTuple):
    """A command of evaluate.py, as its module lists it."""

    add_options: Callable[[argparse.ArgumentParser], None]  # also sets ``run``, the function that takes the options
    summary: str = ""  # for --help


class Parameter(NamedTuple):
    """An argument of a command.

    kind: of a value: a type, or a Literal.
    default: ``MISSING`` if it has to be given.
    many: "+", "*" or "?" of a positional argument that may take several or none; "append" of an option that may be
        repeated, "extend" of one that takes several at once, too.
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


def help_of_arguments(function: Callable) -> dict[str, str]:
    """What the docstring says of each argument."""
    text = (inspect.getdoc(function) or "").partition("Args:\n")[2].partition("\n\nRaises:")[0]
    found = re.findall(r"^    (\w[\w, ]*): (.*(?:\n {8}.*)*)", text, re.M)
    texts = {names: " ".join(as_help(words).split()).replace("``", "") for names, words in found}
    return {name: words.removesuffix(".") for names, words in texts.items() for name in names.split(", ")}


def parameters_of(declared: Callable) -> Iterator[Parameter]:
    """The arguments of a function, or of a training method's Config."""
    if is_dataclass(declared):
        for item in fields(declared):
            about, inside, metavar = item.metadata, item.metadata["in_run"], "PATH" if item.metadata["reads"] else ""
            shown = f"{inside} in the folder of --run" if inside else _short(item.default) or "none"
            default, shown = (MISSING, "") if about["comes_first"] else (item.default, shown)
            yield Parameter(item.name, item.type, default, as_help(about["help"]), "", metavar, about["short"], shown)
        return
    words = help_of_arguments(declared)
    for name, text in words.items():
        if other := re.match(r"as for (\w+)", text):
            words[name] = help_of_arguments(getattr(api, other[1]))[name]
    for name, parameter in inspect.signature(declared).parameters.items():
        if name in NOT_TYPED:
            continue
        kinds = [kind for kind in get_args(parameter.annotation) if kind is not NoneType] or [parameter.annotation]
        if get_origin(parameter.annotation) is Literal:
            kinds = [parameter.annotation]
        is_list = parameter.kind is parameter.VAR_POSITIONAL
        is_place = parameter.kind is parameter.POSITIONAL_ONLY
        many = "" if parameter.default != () else "extend" if get_origin(parameter.annotation) is Sequence else "append"
        many = "?" if is_place else ("*" if declared in MAY_BE_NONE else "+") if is_list else many
        kind = next((Path for kind in kinds if kind is PathLike and api.AgentSpec not in kinds), kinds[0])
        kind = get_args(kind)[0] if get_origin(kind) in (Sequence, tuple) else kind
        default = MISSING if is_list or is_place or parameter.default is parameter.empty else parameter.default
        shown = "" if default in (MISSING, None, ()) else _short(default)
        yield Parameter(name, kind, default, words[name], many, short=SHORT.get(name, ""), shown=shown)


def _short(default: Any) -> str:
    """A file of the toolkit by its place in it."""
    return str(default.relative_to(ROOT) if isinstance(default, Path) and default.is_relative_to(ROOT) else default)


def add_options(parser: argparse.ArgumentParser, declared: Callable) -> None:
    """An argument or option for each parameter: ``table_bits: int = 25`` becomes ``--table-bits N``, a bool a flag."""
    for each in parameters_of(declared):
        read, metavar = KINDS.get(each.kind, (str, "NAME"))
        if is_dataclass(declared):  # which checks its values itself
            read, metavar = each.kind, each.kind.__name__.upper()
        help_text = f"{each.help}; - reads standard input" if each.name in READ.get(declared, ()) else each.help
        help_text += f" (default: {each.shown})" if each.shown and each.kind is not bool else ""
        if each.default is MISSING:
            parser.add_argument(each.name, type=read, help=help_text, nargs=each.many or None)
            continue
        flag = FLAGS.get(each.name, each.name).replace("_", "-")
        flags = [*([f"-{each.short.strip('-')}"] if each.short else []), f"--{flag}"]
        more: dict[str, Any] = {"type": read, "metavar": each.metavar or metavar}
        if each.kind is bool:
            flags, help_text = ([f"--no-{flag}"] if each.default else flags), help_text.removeprefix("False ")
            more = {"action": "store_false" if each.default else "store_true"}
        elif get_origin(each.kind) is Literal:
            more = {"choices": get_args(each.kind)}
        elif each.name in METAVARS:
            more |= {"nargs": 2, "metavar": METAVARS[each.name]}
        elif each.many:
            more |= {"action": each.many} | ({"nargs": "+"} if each.many == "extend" else {})
        default = None if each.many else each.default  # argparse appends to a list alone
        parser.add_argument(*flags, dest=each.name, default=default, help=help_text, **more)


def values_of(function: Callable, given: argparse.Namespace) -> tuple[list[Any], dict[str, Any]]:
    """The positional and the keyword arguments of a call."""
    places, keywords = list[Any](), dict[str, Any]()
    for each in parameters_of(function):
        value = getattr(given, each.name)
        if each.default is not MISSING:
            keywords[each.name] = each.default if value is None else value
        else:
            places += value if each.many in ("+", "*") else [value]
    return places, keywords


def _read_from(value: Any, folder: str) -> Any:
    """The path of a file, or of several; of one called "-", that of a file with all of standard input."""
    if isinstance(value, list):
        return [_read_from(each, folder) for each in value]
    if str(value) != "-":
        return value
    with Path(folder, "stdin").open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return type(value)(file.name)


def _finite(value: Any) -> Any:
    """A JSON value with null in place of the numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value if not isinstance(value, float) or isfinite(value) else None


def command(function: Callable, summary: str, examples: str = "") -> Command:
    """The command that calls a function, prints what it gives, and ends as one that was stopped if it was."""

    def add(parser: argparse.ArgumentParser) -> None:
        parser.description = as_help((inspect.getdoc(function) or "").partition("\n\nArgs:")[0].replace("``", ""))
        parser.description = re.sub(r"\n\n>>> .*?(?=\n\n(?!>>>)|\Z)", "", parser.description, flags=re.S)
        named = AGENT_FORMS if function in TAKE_AGENTS else ""
        parser.epilog = as_help(f"{named}\nexamples\n{examples}" if examples else "")
        parser.set_defaults(run=run)
        add_options(parser, function)
        if function not in PRINT:
            parser.add_argument("--json", action="store_true", help="print the result as JSON, not as tables")

    def run(options: argparse.Namespace) -> None:
        from connectx_toolkit.system.table import print_parts

        is_json = vars(options).get("json")
        with TemporaryDirectory() as folder, redirect_stdout(sys.stderr if is_json else sys.stdout):
            vars(options).update({name: _read_from(vars(options)[name], folder) for name in READ.get(function, ())})
            places, keywords = values_of(function, options)
            found = function(*places, **keywords)
        if is_json:
            print(json.dumps(_finite(found.document()), indent=2, allow_nan=False))
        elif function not in PRINT:
            print_parts(found.parts())
        if getattr(found, "is_interrupted", False):
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
  python evaluate.py exam my_agent.py --positions runs/games.sqlite --me my_agent.py
"""),
    "analyse": command(api.analyse, "give every move of your games its exact score", """\
  python evaluate.py analyse 362133214545441233165554311450066
                                                     one game, as columns counted from 0
  python evaluate.py analyse episode-12345.json      one game, a replay downloaded from Kaggle
  python evaluate.py analyse runs/games.sqlite       the latest games of a file of games, a line each
  python evaluate.py analyse runs/games.sqlite --me my_agent.py --html runs/my_agent.html
                                                     your agent's games there: rows, summary, page
  python evaluate.py analyse my_replays --html runs/replays.html
                                                     your games on Kaggle: all replays in a folder
"""),
    "episodes": command(api.episodes, "fetch a submission's games from Kaggle and analyse them", """\
  python evaluate.py episodes                        your submissions, with their numbers
  python evaluate.py episodes 45678901 --html runs/episodes.html
"""),
    "explore": command(api.explore, "see what was played in a position, and how it ended", """\
  python evaluate.py explore --add my_replays            the first moves of all games, after adding those of a folder
  python evaluate.py explore 33 --seat first             the games in which you moved first and 3, 3 was played
  python evaluate.py explore 332 --opponent "Some Team" --since 2026-11
  python evaluate.py explore --remove old_replays 70000012
"""),
    "report": command(api.report, "make a ladder and a page from stored games", """\
  python evaluate.py report
  python evaluate.py report --html runs/report.html --judge     charts, and games to replay with exact scores
"""),
    "list": command(api.agents, "list the agents of the toolkit, with their strength", """\
  python evaluate.py list
"""),
    "board": command(api.board, "play, watch and analyse on a page", """\
  python evaluate.py board minimax@2
  python evaluate.py board perfect value_search                  two agents play each other
  python evaluate.py board --game 362133214545441233165554311450066
  python evaluate.py board --game episode-12345.json             a replay downloaded from Kaggle
  python evaluate.py board --practise runs/mistakes.txt          positions that exam or analyse wrote
"""),
}  # fmt: skip
