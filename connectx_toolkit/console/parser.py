"""The command-line parser of all three scripts."""

import argparse
import difflib
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from connectx_toolkit.console.files import in_words
from connectx_toolkit.console.programs import as_typed
from connectx_toolkit.foreign import shown
from connectx_toolkit.places import IS_CHECKOUT, ROOT

MISSING, UNKNOWN = "the following arguments are required", "unrecognized arguments"  # as argparse's messages begin


class Parser(argparse.ArgumentParser):
    """Bad input gives one line and exit code 2; descriptions keep their line breaks.

    A misspelt option is answered with the one that was meant, a missing argument also with the usage.
    """

    def __init__(self, **settings: Any):
        # with abbreviations, --sample 4 would mean --samples 4, and replace the shipped network by one of 4 samples
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)

    def format_help(self) -> str:
        return as_typed(super().format_help())

    def error(self, message: str) -> NoReturn:
        more = ""
        if message.startswith(MISSING):
            more = f"{self._required_usage()}python {self.prog} --help explains all options\n"
        elif message.startswith(UNKNOWN):
            message += self._meant(message.removeprefix(UNKNOWN).split())
        self.exit(2, f"{self.prog}: {message}\n{more}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        super().exit(status, as_typed(message or ""))

    def _required_usage(self) -> str:
        """ "usage: evaluate.py agent1 agent2": what has to be given, without the options."""
        formatter = self._get_formatter()
        required = [action for action in self._actions if action.required or not action.option_strings]
        formatter.add_usage(None, required, [])
        return formatter.format_help()

    def _meant(self, words: list[str]) -> str:
        """ "; did you mean --rounds?", of words that are no options but close to some."""
        typed = [word.partition("=")[0] for word in words if word.startswith("-")]
        known = list(self._options())
        close = [match for word in typed for match in difflib.get_close_matches(word, known, 1)]
        return f"; did you mean {', '.join(dict.fromkeys(close))}?" if close else ""

    def _options(self) -> Iterator[str]:
        """All options, also of the commands that are parsers of their own: their unknown words end up here."""
        for action in self._actions:
            yield from action.option_strings
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    yield from parser._option_string_actions


def in_a_line(problem: BaseException) -> str:
    """What went wrong, in one line for a person."""
    text = in_words(problem) if isinstance(problem, OSError) else str(problem)
    return shown(" ".join(text.split()), None) or type(problem).__name__


EXTRAS = {  # of pyproject.toml, by the module that is missing
    **dict.fromkeys(("torch", "matplotlib", "stable_baselines3", "sb3_contrib", "gymnasium", "pettingzoo"), "train"),
    **dict.fromkeys(("anywidget", "IPython"), "notebook"),
    **dict.fromkeys(("kagglesdk", "requests"), "kaggle"),
    "distributed": "cluster",
}


def missing_package(problem: ModuleNotFoundError) -> str:
    """What to install for a command, in one line."""
    name = (problem.name or "").partition(".")[0]
    extra = f"[{EXTRAS[name]}]" if name in EXTRAS else ""
    if not IS_CHECKOUT:
        return f'this Python has no {name}: pip install "connectx-toolkit{extra}"'
    if sys.prefix != sys.base_prefix:  # it is activated already
        return f'this Python has no {name}: `pip install ".{extra}"` in {ROOT} adds it, `make install` adds everything'
    activate = "activate the virtual environment first (source .venv/bin/activate)"
    return f"this Python has no {name}: {activate}, or let `make install` install all that the commands need"
