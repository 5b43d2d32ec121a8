"""What all commands share at a terminal: their names, the parser, Ctrl-C where it would be lost, progress.

The user calls them as scripts of a checkout, or by the command ``connectx`` that pip installs. Progress of long runs is
a bar on a terminal or in a notebook, a line now and then in a log.
"""

import argparse
import difflib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from connectx_core import __version__
from connectx_toolkit.system.files import IS_CHECKOUT, ROOT, in_words
from connectx_toolkit.system.foreign import printable

if TYPE_CHECKING:  # --help is answered at once, and where packages are missing
    from tqdm import tqdm


@contextmanager
def ctrl_c_waits() -> Iterator[list[int]]:
    """Raises a KeyboardInterrupt of the block at its end; gives a list that is empty as long as there was none.

    For what numba compiles: llvmlite calls Python back from C, and there an exception is printed and forgotten, so that
    the command would run on. The same happens in finalizers, such as those of SQLAlchemy.
    """
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # which never gets one
        yield pressed
        return
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def in_notebook() -> bool:
    """Whether this code runs in a notebook. Whether ipykernel is imported does not tell: listing kernels imports it."""
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


def cell_of(file: str) -> str:
    """ "In[3]" of a notebook's cell, by the file under which Python knows its code; "" of any other file."""
    label = sys.modules["IPython"].get_ipython().compile.format_code_name(file) if in_notebook() else None
    return label[1] if label else ""


DOOR = "CONNECTX_TOOLKIT_COMMAND"  # environment variable, which a command sets for itself and the processes it starts


def at_python() -> bool:
    """Whether the reader types Python: in a notebook, at the interpreter's prompt, or in a script of their own."""
    return in_notebook() or hasattr(sys, "ps1") or DOOR not in os.environ


def function_meant(text: str) -> str:
    """ "my_agent, without quotes": what people mean who put the name of their function in quotes; "" of any other."""
    is_function = at_python() and callable(vars(sys.modules["__main__"]).get(text))
    return f"{text}, without quotes" if is_function else ""


SCRIPTS = {"evaluate": "evaluate.py", "build": "build_submission.py", "train": "train.py"}  # by the word after connectx
CALLS = {  # of connectx_toolkit, by the command that does the same
    "evaluate": "get_win_percentages", "evaluate match": "match", "evaluate tournament": "tournament",
    "evaluate exam": "exam", "evaluate analyse": "analyse", "evaluate board": "Board",
    "build": "build", "build --check": "check", "train adopt": "adopt",
}  # fmt: skip


def prog(words: str) -> str:
    """A command's name in its usage and messages: "evaluate.py match" in a checkout, else "connectx evaluate match"."""
    if not words or not IS_CHECKOUT or "connectx" in (Path(sys.argv[0]).stem, os.environ.get(DOOR)):
        return f"connectx {words.removeprefix('evaluate ') if words.startswith('evaluate board') else words}".rstrip()
    word, _, rest = words.partition(" ")
    return f"{SCRIPTS[word]} {rest}".rstrip()


def shell(words: str) -> str:
    """A command as it is typed in a shell, or after "!" in a notebook.

    Args:
        words: what follows ``connectx``, as in "evaluate match a.py b.py".
    """
    typed, sign = prog(words), "!" if in_notebook() else ""
    if typed.startswith("connectx "):
        return f"{sign}{typed}"
    return f"!{sys.executable} {ROOT}/{typed}" if sign else f"python {typed}"


def command(words: str, call: str = "") -> str:
    """A command as the reader types it: in a shell, or as a call of a function where Python is typed.

    Args:
        words: as of ``shell``.
        call: what does the same in Python; by default "match(...)" of "evaluate match".
    """
    call = call or (f"{CALLS[words]}(...)" if words in CALLS else "")
    return call if call and at_python() else shell(words)


def bare_name(words: str, call: str = "") -> str:
    """A command in a sentence, by its name alone: "build_submission.py", or "build(...)" where Python is typed."""
    return command(words, call).removeprefix("python ")


FLAGS = {"n_rounds": "rounds"}  # options that the course's function calls otherwise


def as_option(name: str, value: str = "") -> str:
    """An option as the reader types it: "--allow-package NAME", or "allow_package=NAME" where Python is typed."""
    if not at_python():
        return f"--{FLAGS.get(name, name).replace('_', '-')} {value}".rstrip()
    return f"{name.replace('-', '_')}{'=' * bool(value)}{value}"


def as_help(text: str) -> str:
    """A docstring or a help text of the toolkit's own, which has commands as in a checkout, for the parser at hand."""
    for word, script in SCRIPTS.items():
        text = text.replace(f"python {script}", shell(word)).replace(script, prog(word))
    return text


class ProcessFailed(RuntimeError):
    """A process that a command needs does not start, has died, or is not what it should be; the text says which."""


def complain(script: str, *lines: str) -> None:
    """Prints to stderr what went wrong in a script, line by line; what a terminal would obey is shown as escapes."""
    with suppress(OSError):  # nobody reads it
        for line in lines:
            print(printable(f"{script}: {line}", None), file=sys.stderr)


def tell(line: str) -> None:
    """Prints a line of progress to stderr; long steps print one every few seconds."""
    print(line, file=sys.stderr, flush=True)


def plural(noun: str, count: int) -> str:
    """The noun, with an s unless there is one."""
    return noun if count == 1 else f"{noun}s"


MISSING, UNRECOGNIZED = "the following arguments are required", "unrecognized arguments"  # as argparse's messages begin


class Parser(argparse.ArgumentParser):
    """Bad input gives one line and exit code 2; descriptions keep their line breaks.

    A misspelt option is answered with the one that was meant, a missing argument also with the usage.
    """

    commands = ""  # a line that names them where an argument is missing

    def __init__(self, **settings: Any):
        # with abbreviations, --sample 4 would mean --samples 4, and replace the shipped network by one of 4 samples
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)

    def add_version(self) -> None:
        self.add_argument("--version", action="version", version=f"connectx-toolkit {__version__}")

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is sys.stdout:  # argparse would say nothing where that cannot be written
            file.write(message)
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        more = ""
        if message.startswith(MISSING):
            sign = "" if self.prog.startswith("connectx ") else "python "
            more = f"{self._required_usage()}{self.commands}{sign}{self.prog} --help explains all options\n"
        elif message.startswith(UNRECOGNIZED):
            message += self._meant(message.removeprefix(UNRECOGNIZED).split())
        self.exit(2, f"{self.prog}: {message}\n{more}")

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
    return printable(" ".join(text.split()), None) or type(problem).__name__


EXTRAS = {  # of pyproject.toml, by the module that is missing
    **dict.fromkeys(("torch", "matplotlib", "stable_baselines3", "sb3_contrib", "gymnasium", "pettingzoo"), "train"),
    **dict.fromkeys(("anywidget", "IPython"), "notebook"),
    **dict.fromkeys(("kagglesdk", "requests"), "kaggle"),
    "distributed": "cluster",
    **dict.fromkeys(("optuna", "sqlalchemy"), "tune"),
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


LINE_EVERY = 30.0  # seconds between lines of progress in a log


class _Lines:
    """Standard error, where it is not a terminal, as a file for tqdm: each state of the bar becomes a line."""

    def write(self, text: str) -> None:
        if line := text.strip():
            sys.stdout.flush()  # where both streams go into one log, what was printed before stands before
            sys.stderr.write(f"{line}\n")

    def flush(self) -> None:
        sys.stderr.flush()


BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} {unit}s [{elapsed}, {remaining} left]"


def progress(total: int | None, unit: str, title: str | None = None, *, done: int = 0, delay: float = 2.0) -> "tqdm":
    """A progress bar on standard error; a line every ``LINE_EVERY`` seconds if that is not a terminal.

    Args:
        total: number of units, of which ``done`` were finished before. Of 0, nothing is shown. None: nobody knows; then
            there are only the title, which is set again as more is known, and the time.
        title: text in front of the bar.
        delay: seconds until the bar is shown, 0 for at once; in a log, any value but 0 means ``LINE_EVERY``.
    """
    from tqdm import tqdm

    form = {"bar_format": BAR if total else "{desc} [{elapsed}]", "disable": total == 0}
    scaled = total is not None and total >= 100_000
    bar = partial(tqdm, total=total, unit=unit, desc=title, initial=done, leave=False, unit_scale=scaled, **form)
    if sys.stderr.isatty() or in_notebook():
        return bar(delay=delay, dynamic_ncols=True)
    return bar(delay=LINE_EVERY if delay else 0, mininterval=LINE_EVERY, miniters=1, file=_Lines(), ncols=80)


def beside_bars() -> AbstractContextManager:
    """For what is printed on standard output while a bar is shown: the bar goes away meanwhile, and comes again."""
    from tqdm import tqdm

    return tqdm.external_write_mode(file=sys.stdout)


def tell_rate(count: int, units: str, started: float, where: str) -> None:
    """Says on standard error how many units a second were done since ``started``, a ``time.perf_counter()``."""
    if count:
        print(f"{count / (time.perf_counter() - started):.0f} {units} a second on {where}", file=sys.stderr)
