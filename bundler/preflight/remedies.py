"""Explains a fault by Kaggle's rule behind it, and gives the cure, in a sentence to append to the fault's message."""

import os
import re
from collections.abc import Callable
from typing import NamedTuple

from bundler.judge.packages import KNOWN
from bundler.judge.place import AGENT


class Situation(NamedTuple):
    """The circumstances of a fault.

    files: the files in the agent's folder, including main.py, as relative paths.
    numpy: the version on this machine.
    """

    files: frozenset[str]
    numpy: str

    @property
    def is_alone(self) -> bool:
        return self.files == {"main.py"}

    @property
    def packing(self) -> str:
        return ", in a .tar.gz beside main.py" if self.is_alone else ""


def _no_file(path: str, situation: Situation) -> str:
    name = os.path.basename(path)
    if path.startswith(f"{AGENT}/"):
        inside = next((file for file in sorted(situation.files) if os.path.basename(file) == name), None)
        if inside:
            return f"the archive has it at {inside}, which is {AGENT}/{inside}"
        return (
            f"a single .py goes up alone: pack {name}{situation.packing}"
            if situation.is_alone
            else (f"the archive has no {path[len(AGENT) + 1 :]}")
        )
    if not path.startswith("/"):
        where = f"Kaggle's working directory is not the file's folder: open {AGENT}/{name}"
    elif path.startswith("/kaggle/"):
        where = f"the judge has no notebook's folders: open {AGENT}/{name}"
    else:
        where = f"the judge has only what is submitted: open {AGENT}/{name}"
    return f"{where}{situation.packing}"


def _no_module(name: str, situation: Situation) -> str:
    top = name.split(".")[0]
    if any(file == f"{top}.py" or file.startswith(f"{top}/") for file in situation.files):
        return (
            f"{top} lies beside main.py, but Kaggle's loader takes that folder off sys.path after the load: import it "
            f'at the top of main.py, or do sys.path.append("{AGENT}") first'
        )
    if top in KNOWN:
        return "it is not installed here"
    return (
        f"{top} is not among the packages that Kaggle is known to have, nor in what is submitted: pack it"
        f"{situation.packing}; build_submission.py puts helper modules into one file"
    )


def _old_numpy(name: str, situation: Situation) -> str:
    return f"numpy {situation.numpy} here, and numpy 2 on the judge, have no {name}: use what replaced it"


_NETWORK = "the judge has no network: submit what it needs"
_STREAM = "Kaggle replaces sys.stdout and sys.stderr by text buffers without it"
_PICKLE = (
    "what main.py defines belongs to no module that pickle could find (Kaggle runs it by exec): pickle plain lists, "
    "dicts and arrays, or define the classes in a module beside main.py"
)
_SELF = f'Kaggle\'s loader runs the text by exec and sets no __file__: use "{AGENT}"'

_CACHE = "numba's cache=True cannot work in a text that is run by exec: leave it out"
_NOTHING = (
    "it defines no function: Kaggle calls the last callable that the file binds, and what stands under "
    'if __name__ == "__main__" never runs'
)
_ARGUMENTS = (
    "Kaggle passes (obs, config), cut to as many as the function names before any *args or wrapper: "
    "def agent(obs, config)"
)

# The first pattern that is found in the fault's text or traceback decides; a function gets the pattern's first group.
RULES: tuple[tuple[str, str | Callable[[str, Situation], str]], ...] = (
    (r"name '__file__' is not defined|KeyError\('__file__'", _SELF),
    (r"No module named '([\w.]+)'", _no_module),
    (r"'__name__' not in globals|attempted relative import", "main.py belongs to no package: import x, not .x"),
    (r"(?s)subprocess\.py.*No such file or directory", "nobody says which programs the judge has: go on without it"),
    (r"No such file or directory: \\?['\"]([^'\"\\]+)", _no_file),
    (r"Read-only file system|PermissionError", "that folder is read-only: write to the working directory or tempfile"),
    (r"gaierror|Network is unreachable|name resolution|ConnectionError|URLError", _NETWORK),
    (r"(?:numpy|np\.).* has no attribute '(\w+)'", _old_numpy),
    (r"`np\.(\w+)` was (?:removed|a deprecated)", _old_numpy),
    (r"os\.environ|<frozen os>.*in __getitem__", "the judge's environment variables are not known: os.environ.get"),
    (r"PicklingError|Can't (?:pickle|get attribute)", _PICKLE),
    (r"NoneType' object has no attribute 'startswith'|cannot cache function", _CACHE),
    (r"if callable\(v\)\]\[-1\]", _NOTHING),
    (r"in call\n(?:    .*\n)*TypeError: .*(?:positional|keyword-only) argument", _ARGUMENTS),
    (r"StringIO' object has no attribute|UnsupportedOperation", _STREAM),
    (r"SystemExit|KeyboardInterrupt", "it ends the judge's process: return a column"),
    (r"only works in main thread", "Kaggle may call the agent in another thread"),
)


def remedy(text: str, trace: str, situation: Situation) -> str:
    """The rule and the cure for a fault; "" if none is known."""
    for pattern, answer in RULES:
        for words in (text, trace):
            if found := re.search(pattern, words):
                return answer if isinstance(answer, str) else answer(found[1], situation)
    return ""


def with_remedy(text: str, trace: str, situation: Situation) -> str:
    """The fault's text and its remedy."""
    cure = remedy(text, trace, situation)
    return f"{text}; {cure}" if cure else text
