"""An exception as data, which a process under test sends as JSON and ``remedies`` explains.

Texts of tracebacks hold source lines, comments and messages, which may name anything; a cure is not chosen by them.
"""

import os
import re
import sys
import traceback
from typing import Any, NamedTuple

from connectx_toolkit.system.console import cell_of
from connectx_toolkit.system.files import ROOT

LONGEST_MESSAGE, MOST_FRAMES = 500, 40  # characters of a message, and calls, that are kept
NOT_THE_AGENTS = (
    *(os.path.join(ROOT, folder, "") for folder in ("connectx_core", "connectx_toolkit")),
    os.path.join(os.path.dirname(os.__file__), ""),  # installed packages lie below it
    "<frozen",
)


class Raised(NamedTuple):
    """An exception, in values that JSON can hold.

    kinds: the names of its type and of that one's bases, the type's own first.
    line: the first line of what Python prints of it, such as "ValueError: no column".
    name: what NameError, AttributeError and ImportError could not find; "" of others.
    filename: of an OSError, or of the module of an ImportError; "" if there is none.
    errno: of an OSError; 0 of others.
    frames: (file, line, function) of the calls that led to it, the innermost last.
    """

    kinds: tuple[str, ...]
    message: str = ""
    line: str = ""
    name: str = ""
    filename: str = ""
    errno: int = 0
    frames: tuple[tuple[str, int, str], ...] = ()

    @property
    def place(self) -> str:
        """ "mine.py, line 7", "In[3], line 7": the innermost call that is neither ours nor a package's; or ""."""
        own = [(file, line) for file, line, _ in self.frames if _is_agents_own(file)]
        return f"{cell_of(own[-1][0]) or os.path.basename(own[-1][0])}, line {own[-1][1]}" if own else ""

    def comes_from(self, *parts: str) -> bool:
        """Whether the innermost call is of a file whose path has one of the parts, or of a function of that name."""
        file, _, function = self.frames[-1] if self.frames else ("", 0, "")
        return function in parts or any(part in file for part in parts)

    def passes(self, part: str) -> bool:
        """Whether any of the calls is of a file whose path has this part."""
        return any(part in file for file, _, _ in self.frames)


def to_raised(problem: BaseException) -> Raised:
    """The data of an exception; of the one that Kaggle's loader raises, of the file's own that it stands for."""
    if type(problem).__name__ == "InvalidArgument" and problem.__context__ is not None:
        problem = problem.__context__
    message = problem.msg if isinstance(problem, SyntaxError) else _message_of(problem)
    kind = type(problem)
    called = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__name__}"
    first = message.strip().partition("\n")[0]
    frames = traceback.StackSummary.extract(traceback.walk_tb(problem.__traceback__), lookup_lines=False)
    return Raised(
        tuple(each.__name__ for each in kind.__mro__ if each is not object),
        message[:LONGEST_MESSAGE],
        f"{called}: {first}"[:LONGEST_MESSAGE] if first else called,
        _attribute_text(problem, "name"),
        _attribute_text(problem, "filename") or _attribute_text(problem, "path"),
        number if type(number := getattr(problem, "errno", 0)) is int else 0,
        tuple((frame.filename, frame.lineno or 0, frame.name) for frame in frames[-MOST_FRAMES:]),
    )


def raised_from_line(line: str) -> Raised:
    """What a line of a guard tells, "ValueError: no column (mine.py, line 3)".

    For bases, the type has to be one of Python's.
    """
    match = re.match(r"([\w.]+): (.*?)(?: \(([^()]+), line (\d+)\))?$", line)
    if not match:
        return Raised((), line, line)
    kind = vars(sys.modules["builtins"]).get(name := match[1].rpartition(".")[2])
    bases = [each.__name__ for each in kind.__mro__ if each is not object] if isinstance(kind, type) else [name]
    named = re.search(r"(?:name|No module named) '([\w.]+)'", match[2])
    file = re.search(r"^\[Errno \d+\] [\w\s-]+: '([^']+)'", match[2])
    number = re.match(r"\[Errno (\d+)\]", match[2])
    return Raised(
        tuple(bases),
        match[2],
        line,
        named[1] if named else "",
        file[1] if file else "",
        int(number[1]) if number else 0,
        ((match[3], int(match[4]), ""),) if match[3] else (),
    )


def _message_of(problem: BaseException) -> str:
    try:
        return str(problem)
    except Exception as fault:  # their code may raise anything
        return f"<its text raises {type(fault).__name__}>"


def _attribute_text(problem: BaseException, attribute: str) -> str:
    try:
        value: Any = getattr(problem, attribute, "")
        return os.fsdecode(value)[:LONGEST_MESSAGE] if isinstance(value, str | bytes | os.PathLike) else ""
    except Exception:
        return ""


def _is_agents_own(file: str) -> bool:
    return not file.startswith(NOT_THE_AGENTS) and not re.search(r"(site|dist)-packages", file)
