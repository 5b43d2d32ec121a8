"""How the user calls the commands: as scripts of a checkout, or by the command ``connectx`` that pip installs."""

import re
import sys
from pathlib import Path

from connectx_toolkit.foreign import shown

COMMANDS = {"evaluate": "evaluate", "build_submission": "build", "train": "train"}  # script: word after connectx
SCRIPT = re.compile(rf"(?:python )?\b({'|'.join(COMMANDS)})\.py\b")


class ProcessFailed(RuntimeError):
    """A process that a command needs does not start, has died, or is not what it should be; the text says which."""


def complain(script: str, *lines: str) -> None:
    """Prints to stderr what went wrong in a script, line by line; what a terminal would obey is shown as escapes."""
    for line in lines:
        print(shown(as_typed(f"{script}: {line}"), None), file=sys.stderr)


def as_typed(text: str) -> str:
    """A text with commands in it, such as "python evaluate.py list", as the user has to type them."""
    if Path(sys.argv[0]).stem != "connectx":
        return text
    return SCRIPT.sub(lambda found: f"connectx {COMMANDS[found[1]]}", text).replace("evaluate board", "board")


def plural(noun: str, count: int) -> str:
    """The noun, with an s unless there is one."""
    return noun if count == 1 else f"{noun}s"
