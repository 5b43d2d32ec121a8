"""What cannot be inlined, by file and line, with the cure.

What would fail on the judge as it runs is not looked for here: the pre-flight runs it, and says the cure.
"""

import ast
import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from connectx_toolkit.kaggle.remedies import KNOWN_PACKAGES, standing_of
from connectx_toolkit.kaggle.sandbox import FOLDER
from connectx_toolkit.system.console import as_option, command

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


def adopt_command(model: str, agent: Path) -> str:
    """The command that makes an agent of the model that an agent loads by its path: an archive, or a file of torch."""
    name, is_torch = re.sub(r"\W", "_", agent.stem) + "_adopted.py", model.endswith(TORCH_FILES)
    model = model.removeprefix(f"{FOLDER}/")  # a path that is on the judge alone
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
    known = [*(module.stem for module in agent.parent.glob("*.py") if module.stem != "__init__"), *KNOWN_PACKAGES]
    close = difflib.get_close_matches(package, known, 1, CLOSE)
    cure = f"did you mean {close[0]}? " if close else ""
    if package in STABLE_BASELINES:
        cure = f"`{adopt_command(loaded_model(nodes), agent)}` makes an agent that does not need {package}. "
    allowed = as_option("allow-package", package)
    cure += f"Catch ImportError and play without it, or pass {allowed} if you know that Kaggle has it"
    return f"unknown package {package}: no module beside the agent, and {standing_of(package)}. {cure}"
