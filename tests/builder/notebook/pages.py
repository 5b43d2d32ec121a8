"""Notebooks for tests: written in few lines, run by IPython, and their agents played by Kaggle's loader."""

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from kaggle_environments.agent import get_last_callable
from kaggle_environments.utils import structify

from connectx_core.position import STANDARD
from connectx_toolkit.builder.build import render
from connectx_toolkit.builder.notebook.page import from_page
from connectx_toolkit.builder.preflight.trial import sample_questions
from connectx_toolkit.kaggle.replies import count_arguments

POSITIONS = 60
HEAD = "def my_agent(obs, config):\n"
FREE = "[c for c in range(config.columns) if obs.board[c] == 0]"


def written(path: Path, cells: Sequence[str | tuple[str, str]], **metadata: Any) -> Path:
    """A notebook of code cells, or of (type, source)."""
    typed = [("code", cell) if isinstance(cell, str) else cell for cell in cells]
    entries: list[dict[str, Any]] = [{"cell_type": kind, "source": text, "metadata": {}} for kind, text in typed]
    for entry in entries:
        entry |= {"outputs": [], "execution_count": None} if entry["cell_type"] == "code" else {}
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": entries}))
    return path


def text_of(path: Path, folder: Path, name: str | None = None) -> str:
    """The built file of a page's agent."""
    folder.mkdir()
    return render(from_page(path, name, folder).to_inlined())


def moves_of(agent: Any) -> list[int]:
    """Its moves on POSITIONS; what it draws comes from the same seeds each time."""
    moves = []
    for number, question in enumerate(sample_questions(POSITIONS, geometries=(STANDARD,))):
        asked = question.as_json()
        random.seed(number)
        np.random.seed(number)
        given = structify(asked["obs"]), structify(asked["config"])
        moves.append(int(agent(*given[: count_arguments(agent)])))
    return moves


def moves_of_file(text: str, path: Path) -> list[int]:
    """The moves of a submission, as Kaggle loads it."""
    path.write_text(text)
    limit = sys.getrecursionlimit()
    try:
        return moves_of(get_last_callable(text, path=str(path)))
    finally:
        sys.setrecursionlimit(limit)  # which a file may raise


_KERNEL = """
import gc, json, os, sys
import numpy.ma
from IPython.core.interactiveshell import InteractiveShell
from tests.builder.notebook.pages import moves_of
for name, value in json.loads(sys.argv[2]).items():  # as numpy 1 had them
    setattr(numpy, name, eval(value))
shell, found = InteractiveShell.instance(), {}
shell.showtraceback = lambda *arguments, **options: None
for folder, agent, names in json.loads(sys.argv[1]):
    gc.freeze()  # else each reset looks at all that is there
    shell.reset()
    os.chdir(folder)
    sys.path.insert(0, folder)
    cells = json.load(open(names))["cells"]
    for cell in cells:
        if cell["cell_type"] == "code":
            shell.run_cell("".join(cell["source"]))
        if agent in shell.user_ns.get("TAKEN", ""):
            break
    found[folder] = moves_of(shell.user_ns[agent])
    sys.path.remove(folder)
    for module in [m for m in sys.modules.values() if (getattr(m, "__file__", None) or "").startswith(folder)]:
        del sys.modules[module.__name__]
print("\\n" + json.dumps(found))
"""
OLD_NUMPY = {"Inf": "numpy.inf", "int": "int", "float": "float", "bool": "bool"}


def moves_in_ipython(pages: Sequence[tuple[Path, str]]) -> dict[str, list[int]]:
    """Folder -> the moves of a page's agent after all cells have run there, top to bottom.

    A cell that sets TAKEN to the agent's name is the last.
    """
    asked = json.dumps([[str(page.parent), agent, page.name] for page, agent in pages])
    command = [sys.executable, "-c", _KERNEL, asked, json.dumps(OLD_NUMPY)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])
