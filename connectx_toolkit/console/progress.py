"""Progress of long runs: a bar on a terminal or in a notebook, a line now and then in a log."""

import sys
import time
from contextlib import AbstractContextManager
from functools import partial

from tqdm import tqdm

LINE_EVERY = 30.0  # seconds between lines of progress in a log


class _Lines:
    """Standard error, where it is not a terminal, as a file for tqdm: each state of the bar becomes a line."""

    def write(self, text: str) -> None:
        if line := text.strip():
            sys.stdout.flush()  # where both streams go into one log, what was printed before stands before
            sys.stderr.write(f"{line}\n")

    def flush(self) -> None:
        sys.stderr.flush()


def _in_notebook() -> bool:
    """Whether this code runs in a notebook. Whether ipykernel is imported does not tell: listing kernels imports it."""
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


def progress(total: int, unit: str, title: str | None = None, *, done: int = 0, delay: float = 2.0) -> tqdm:
    """A progress bar on standard error; a line every ``LINE_EVERY`` seconds if that is not a terminal.

    Args:
        total: number of units, of which ``done`` were finished before.
        title: text in front of the bar.
        delay: seconds until the bar is shown, 0 for at once; in a log, any value but 0 means ``LINE_EVERY``.
    """
    bar = partial(tqdm, total=total, unit=unit, desc=title, initial=done, leave=False, unit_scale=total >= 100_000)
    if sys.stderr.isatty() or _in_notebook():
        return bar(delay=delay)
    return bar(delay=LINE_EVERY if delay else 0, mininterval=LINE_EVERY, miniters=1, file=_Lines(), ncols=80)


def beside_bars() -> AbstractContextManager:
    """For what is printed on standard output while a bar is shown: the bar goes away meanwhile, and comes again."""
    return tqdm.external_write_mode(file=sys.stdout)


def tell_rate(count: int, units: str, started: float, where: str) -> None:
    """Says on standard error how many units a second were done since ``started``, a ``time.perf_counter()``."""
    if count:
        print(f"{count / (time.perf_counter() - started):.0f} {units} a second on {where}", file=sys.stderr)
