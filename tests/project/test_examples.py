"""The examples in the docstrings say what the code does, and every public name of the API is on its page."""

import doctest
import importlib
import re

import pytest

from connectx_toolkit.system.files import ROOT

PLAYING = "books clock evaluation exact position search solver"
ENVIRONMENTS = [f"connectx_toolkit.training.environments.{name}" for name in ("connectx_env", "sb3", "aec")]
MODULES = [
    *(f"connectx_core.{name}" for name in PLAYING.split()),
    *("connectx_toolkit.api", "connectx_toolkit.board.widget"),
    *ENVIRONMENTS,
]
PAGES = [ROOT / "docs" / "reference" / f"{name}.md" for name in ("python", "environments")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for the files that some write
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0 and found.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_the_reference_shows_is_public(page):
    shown = [item.rpartition(".") for item in re.findall(r"^::: (\S+[.][a-zA-Z]\w*)$", page.read_text(), re.M)]
    names = [(module, name) for module, _, name in shown if name != "sb3"]
    assert names and all(name in importlib.import_module(module).__all__ for module, name in names)
