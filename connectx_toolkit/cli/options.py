"""Kinds of values that options of commands take."""

import argparse
import json
from collections.abc import Callable
from math import inf
from typing import NamedTuple

from connectx_toolkit.system.console import shell


class Command(NamedTuple):
    """A command of evaluate.py, as its module lists it."""

    add_options: Callable[[argparse.ArgumentParser], None]  # also sets ``run``, the function that takes the options
    summary: str = ""  # for --help


AGENT_FORMS = f"""\
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
