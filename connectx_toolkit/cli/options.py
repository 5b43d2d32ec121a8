"""Kinds of values and groups of options that several commands of evaluate.py share."""

import argparse
import json
import re
from collections.abc import Callable
from datetime import date
from math import inf
from pathlib import Path
from typing import NamedTuple

from connectx_toolkit.kaggle.rules import DEFAULTS, OVERAGE
from connectx_toolkit.system.console import shell
from connectx_toolkit.system.files import GAMES


class Command(NamedTuple):
    """A command of evaluate.py, as its module lists it."""

    add_options: Callable[[argparse.ArgumentParser], None]  # also sets ``run``, the function that takes the options
    summary: str = ""  # for --help


AGENTS = f"""\
An agent is one of
  minimax, perfect, ...   an agent of the toolkit ({shell("evaluate list")})
  random, negamax         an agent of Kaggle's
  my_agent.py             a file; it is loaded as on Kaggle, before every game
  minimax@4               minimax that searches 4 plies, whatever the clock says
  perfect~10              any named agent that plays a random move 10% of the time; minimax@4~10 does both
"""


def parse_config(text: str) -> dict:
    """``rows=5,columns=4`` as a dict; values are JSON.

    Raises:
        argparse.ArgumentTypeError: an item is not NAME=NUMBER.
    """
    config = {}
    for item in text.split(","):
        name, separator, value = item.partition("=")
        try:
            config[name] = json.loads(value)
        except json.JSONDecodeError:
            separator = ""
        if not (name and separator):
            raise argparse.ArgumentTypeError(f"an item of the configuration should be NAME=NUMBER, not {item!r}")
    return config


def integer_from(least: int, beyond: float = inf, named: str = "") -> Callable[[str], int]:
    """A type of argparse's: an integer of at least ``least`` and below ``beyond``, which ``named`` puts in words."""
    expected = named or f"an integer of at least {least}"

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"expected {expected}, not {text!r}") from None
        if not least <= number < beyond:
            raise argparse.ArgumentTypeError(f"expected {expected}, not {number}")
        return number

    return parse


def number(text: str) -> float:
    """A number, of which it is said elsewhere whether it will do."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, not {text!r}") from None


def seconds(text: str) -> float:
    """A time that is finite, and 0 or more."""
    found = number(text)
    if not 0 <= found < inf:
        raise argparse.ArgumentTypeError(f"expected a number of seconds of at least 0, not {text!r}")
    return found


from_one = integer_from(1)
any_seed = integer_from(-(2**63), 2**63, "an integer of at least -2**63 and less than 2**63")  # what SQLite can hold


def add_config(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(f"{name}={value}" for name, value in DEFAULTS.items())
    parser.add_argument(
        "--config",
        type=parse_config,
        metavar="NAME=NUMBER,...",
        help=f"values of Kaggle's configuration to change (default: {names})",
    )


def add_overage(parser: argparse.ArgumentParser) -> None:
    help_text = "overage time of each agent in a game, in seconds (default: 60)"
    parser.add_argument("--bank", type=number, default=OVERAGE, dest="overage", metavar="SECONDS", help=help_text)


def add_games(parser: argparse.ArgumentParser) -> None:
    help_text = f"SQLite file that keeps all games (default: {GAMES})"
    parser.add_argument("--games", type=Path, default=GAMES, metavar="FILE", help=help_text)


def add_latest(parser: argparse.ArgumentParser, default: int | None, help_text: str) -> None:
    parser.add_argument("--latest", type=from_one, default=default, metavar="N", help=help_text)


def add_ladder(parser: argparse.ArgumentParser) -> None:
    help_text = "also write the ladder to STEM.md, STEM.svg and STEM.json, for example runs/ladder"
    parser.add_argument("--ladder", type=Path, metavar="STEM", help=help_text)


def add_judging_time(parser: argparse.ArgumentParser) -> None:
    help_text = "time limit per game in seconds (default: 60); moves left unsolved are marked"
    parser.add_argument("--time", type=seconds, default=60.0, metavar="SECONDS", help=help_text)


def add_write_mistakes(parser: argparse.ArgumentParser) -> None:
    help_text = "add the positions of the mistakes to FILE, for exam --positions, board --practise and match --openings"
    parser.add_argument("--write-mistakes", type=Path, metavar="FILE", help=help_text)


def add_from_one(parser: argparse.ArgumentParser) -> None:
    help_text = "columns are typed counted from 1, as on connect4.gamesolver.org (default: from 0); tables count from 0"
    parser.add_argument("--from-one", action="store_true", help=help_text)


def add_me(parser: argparse.ArgumentParser) -> None:
    help_text = "your name in the games: a team, or an agent (default: the name that is in all games)"
    parser.add_argument("--me", metavar="NAME", help=help_text)


def add_to_games(parser: argparse.ArgumentParser) -> None:
    """The options of what answers from a file of games, to which it may add some first."""
    add_games(parser)
    help_text = "which games count: those of the ladder, those that match and tournament played, or all"
    origins = ("ladder", "arena", "all")
    parser.add_argument(
        "--from", dest="origin", choices=origins, default="ladder", help=f"{help_text} (default: ladder)"
    )
    help_text = "add these games first: replays, folders or archives of replays"
    parser.add_argument("--add", nargs="+", default=[], metavar="WHAT", help=help_text)
    help_text = "your name in the games (default: the owner of the added games, or the name that is in all games)"
    parser.add_argument("--me", metavar="NAME", help=help_text)
    help_text = "count only games known to be from this day (UTC) or later, for example 2026-11-30 or 2026-11"
    parser.add_argument("--since", type=day, metavar="DATE", help=help_text)


def day(text: str) -> str:
    """A date, or the beginning of one."""
    try:
        date.fromisoformat(text + "-01" * (2 - text.count("-")))
        is_date = re.fullmatch(r"\d{4}(-\d\d){0,2}", text, re.ASCII)
    except ValueError:
        is_date = None
    if not is_date:
        raise argparse.ArgumentTypeError(f"expected a date such as 2026-11-30 or 2026-11, not {text!r}")
    return text


def add_review(parser: argparse.ArgumentParser) -> None:
    """The options of what shows all of one's own games."""
    add_me(parser)
    help_text = "write a page to FILE: the summary, and your games to filter and to replay with exact scores"
    parser.add_argument("--html", type=Path, metavar="FILE", help=help_text)
    parser.add_argument("--json", action="store_true", help="print your games and the summary as JSON, not as tables")
    add_write_mistakes(parser)
