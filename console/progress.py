"""How far a long run is: a bar where somebody watches, now and then a line in a log."""

import sys
from functools import partial

from tqdm import tqdm

LINE_EVERY = 30.0  # seconds between lines of progress in a log


class _Lines:
    """Standard error that is no terminal, as a file for tqdm: each state of the bar is a line of its own."""

    def write(self, text: str) -> None:
        if line := text.strip():
            print(line, file=sys.stderr)

    def flush(self) -> None:
        sys.stderr.flush()


def _in_notebook() -> bool:
    """Whether a kernel runs this code. That ipykernel is loaded would not tell: whoever lists kernels loads it."""
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


def progress(total: int, unit: str, title: str | None = None, *, done: int = 0, delay: float = 2.0) -> tqdm:
    """A bar on standard error, or a line every ``LINE_EVERY`` seconds where that is a log.

    Args:
        total: units in all, of which ``done`` were done before.
        title: in front of the bar.
        delay: seconds before the bar is shown, 0 for at once; in a log, anything but 0 means ``LINE_EVERY``.
    """
    bar = partial(tqdm, total=total, unit=unit, desc=title, initial=done, leave=False, unit_scale=total >= 100_000)
    if sys.stderr.isatty() or _in_notebook():
        return bar(delay=delay)
    return bar(delay=LINE_EVERY if delay else 0, mininterval=LINE_EVERY, miniters=1, file=_Lines(), ncols=80)
