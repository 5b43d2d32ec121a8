"""The examples in the docstrings say what the code does."""

import doctest
from importlib import import_module

import pytest

NAMES = "clock exact game_memory geometry heuristic notation openings position search solver"
MODULES = [
    *(f"connectx.{name}" for name in NAMES.split()),
    "connectx_toolkit.api",
    "connectx_toolkit.training.environments.connectx",
]


@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0 and found.failed == 0
