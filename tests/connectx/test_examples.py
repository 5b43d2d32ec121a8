"""The examples in the docstrings say what the code does."""

import doctest

import pytest

from connectx import notation, openings, position, search, solver


@pytest.mark.parametrize("module", [notation, openings, position, search, solver], ids=lambda module: module.__name__)
def test_examples(module):
    found = doctest.testmod(module)
    assert found.attempted > 0 and found.failed == 0
