"""Kinds of values that options of commands take."""

import argparse
import json
from collections.abc import Callable
from typing import Any, NamedTuple

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
        argparse.ArgumentTypeError: an item is not NAME=NUMBER, or names what another has named.
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
