"""What an agent's source must not do because it would fail on Kaggle's judge, and what may fail there; with the cure.

Only what cannot work is refused. What may fail is noted; the checks of the built file show whether it does.
"""

import ast
import difflib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from connectx_toolkit.kaggle.remedies import KNOWN, standing
from connectx_toolkit.kaggle.sandbox import AGENT
from connectx_toolkit.system.console import as_option, command

_NETWORK = "the judge has no network: the agent has to play without it"
_PROCESS = (
    "the judge may lack other programs, and a process started afresh cannot find a submission's modules: catch that"
)
_EXIT = "it would end the judge's process: return a column, or raise an exception"
_HIDDEN = "which module it imports cannot be seen: use an import statement"
_PICKLE = (
    "pickled classes of your own are looked up by module names that a submission does not have; plain containers, "
    "arrays and a state_dict work"
)
_STREAM = "Kaggle replaces sys.stdout and sys.stderr by text buffers without it: print(..., file=sys.stderr)"
_SIGNAL = "signals reach the main thread alone, and a submission's agent runs in another: look at the clock instead"
_MAIN = "the main module is the judge's: import what you need by its own name"
_INPUT = "nobody types on the judge: decide from obs and config"

REFUSED_IMPORTS = {"__main__": _MAIN}
NOTED_IMPORTS = {
    **dict.fromkeys(("socket", "ssl", "http", "urllib.request", "urllib3", "requests", "ftplib", "smtplib"), _NETWORK),
    **dict.fromkeys(("subprocess", "multiprocessing", "pty", "torch.multiprocessing"), _PROCESS),
    "concurrent.futures.ProcessPoolExecutor": _PROCESS,
}

DEADLY = {"os._exit": _EXIT, "os.abort": _EXIT, "os.kill": _EXIT}  # always refused: the guard cannot survive them
FAILING = {  # refused if they run when the file is loaded; elsewhere only noted, because they may never be reached
    **dict.fromkeys(("sys.exit", "exit", "quit"), _EXIT),
    **dict.fromkeys(("__import__", "importlib.import_module", "runpy.run_path", "runpy.run_module"), _HIDDEN),
    **dict.fromkeys(("sys.stdout.buffer", "sys.stdout.fileno", "sys.stderr.buffer", "sys.stderr.fileno"), _STREAM),
    "faulthandler.enable": _STREAM,
    **dict.fromkeys(("signal.signal", "signal.alarm", "signal.setitimer"), _SIGNAL),
    "input": _INPUT,
}
NOTED = {
    **dict.fromkeys(("os.system", "os.popen", "os.fork", "os.execv", "os.posix_spawn"), _PROCESS),
    **dict.fromkeys(("concurrent.futures.ProcessPoolExecutor", "torch.multiprocessing"), _PROCESS),
    **dict.fromkeys(("pickle.load", "pickle.loads", "pickle.Unpickler"), _PICKLE),
    **dict.fromkeys(("joblib.load", "dill.load", "dill.loads", "cloudpickle.load", "cloudpickle.loads"), _PICKLE),
}
UNPICKLING = {"allow_pickle": ("numpy.load", True), "weights_only": ("torch.load", False)}  # option: (call, bad value)
STABLE_BASELINES = frozenset({"stable_baselines3", "sb3_contrib"})
CLOSE = 0.8  # difflib's ratio of names that are taken for each other: at 0.6 rich is torch
TORCH_FILES = (".pt", ".pth")


class Refusal(NamedTuple):
    """Something that cannot be in a submission, or would behave differently there."""

    path: Path
    line: int
    reason: str
    place: str = ""  # where people find it, if it is not that line of that file: "lesson.ipynb, cell 16, line 3"

    def __str__(self) -> str:
        return f"{self.place or f'{self.path}:{self.line}'}: {self.reason}"

    @property
    def short(self) -> str:
        """The place without the file's folder."""
        return self.place or f"{self.path.name}:{self.line}"


class Refused(Exception):
    """The agent cannot be inlined without changing its behaviour; with every reason found."""

    def __init__(self, refusals: list[Refusal]):
        super().__init__("\n".join(str(refusal) for refusal in refusals))
        self.refusals = refusals


class Verdict(NamedTuple):
    """What is wrong with a line, and whether it is refused or only noted."""

    reason: str
    is_refused: bool


def judged_import(dotted: str) -> Verdict | None:
    """The verdict on importing a module, or a name from one; None if nothing is wrong."""
    parts = dotted.split(".")
    for depth in range(1, len(parts) + 1):
        name = ".".join(parts[:depth])
        for table in (REFUSED_IMPORTS, NOTED_IMPORTS):
            if name in table:
                return Verdict(f"{name}: {table[name]}", table is REFUSED_IMPORTS)
    return None


def judged_use(
    node: ast.AST, qualified: Callable[[ast.AST], str], own_names: set[str], is_certain: bool
) -> Verdict | None:
    """The verdict on an expression or statement; None if nothing is wrong.

    Args:
        qualified: gives the dotted name of an expression, "" if unknown.
        own_names: names that the module binds itself: its own ``exit`` is not Python's.
        is_certain: whether it always runs when the file is loaded.
    """
    if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
        name = qualified(node)
        for table in (DEADLY, FAILING, NOTED):
            if name in table and name.split(".")[0] not in own_names:
                return Verdict(f"{name}: {table[name]}", table is DEADLY or (table is FAILING and is_certain))
    elif isinstance(node, ast.Raise) and node.exc is not None:
        name = qualified(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
        if name in ("SystemExit", "KeyboardInterrupt"):
            return Verdict(f"raise {name}: {_EXIT}", is_certain)
    elif isinstance(node, ast.Call):
        return _judged_call(node, qualified(node.func))
    return None


def _judged_call(call: ast.Call, name: str) -> Verdict | None:
    for keyword in call.keywords:
        of, wrong = UNPICKLING.get(keyword.arg or "", ("", None))
        if name == of and isinstance(keyword.value, ast.Constant) and keyword.value.value is wrong:
            return Verdict(f"{name} with {keyword.arg}={wrong}: {_PICKLE}", is_refused=False)
    return None


def adopt_command(model: str, agent: Path) -> str:
    """The command that makes an agent of the model that an agent loads by its path: an archive, or a file of torch."""
    name, is_torch = re.sub(r"\W", "_", agent.stem) + "_adopted.py", model.endswith(TORCH_FILES)
    model = model.removeprefix(f"{AGENT}/")  # a path that is on the judge alone
    network = " --module FILE.py:CLASS --observation FILE.py:FUNCTION" if is_torch else ""
    keywords = ", module=CLASS, observation=FUNCTION" if is_torch else ""
    return command(f"train adopt {model} -o {name}{network}", f'adopt("{model}", "{name}"{keywords})')


def loaded_model(nodes: Iterable[ast.AST]) -> str:
    """The archive that a call such as ``PPO.load("model")`` names, model.zip where none can be read off."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load":
            named = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "path")]
            names = [name.value for name in named if isinstance(name, ast.Constant) and isinstance(name.value, str)]
            if names and isinstance(node.func.value, ast.Name):
                return names[0] if Path(names[0]).suffix == ".zip" else f"{names[0]}.zip"
    return "model.zip"


def unknown_package(package: str, agent: Path, nodes: Iterable[ast.AST]) -> str:
    """Why an import is refused: neither a module beside ``agent``, whose ``nodes`` these are, nor a package known to be
    on the judge."""
    known = [*(module.stem for module in agent.parent.glob("*.py") if module.stem != "__init__"), *KNOWN]
    close = difflib.get_close_matches(package, known, 1, CLOSE)
    cure = f"did you mean {close[0]}? " if close else ""
    if package in STABLE_BASELINES:
        cure = f"`{adopt_command(loaded_model(nodes), agent)}` makes an agent that does not need {package}. "
    allowed = as_option("allow-package", package)
    cure += f"Catch ImportError and play without it, or pass {allowed} if you know that Kaggle has it"
    return f"unknown package {package}: no module beside the agent, and {standing(package)}. {cure}"
