"""What a statement binds and reads."""

import ast

import pytest

from connectx_toolkit.builder.notebook.reads import Reads, reads_of


def of(source: str, has_lazy: bool = False) -> Reads:
    (statement,) = ast.parse(source).body
    return reads_of(statement, has_lazy)


@pytest.mark.parametrize("has_lazy", [False, True])
def test_a_cell_may_await(has_lazy):
    found = of("x: later = await f(y)", has_lazy)
    assert found.binds == {"x"} and {"f", "y"} <= found.now
    assert ("later" in found.now) != has_lazy


def test_what_a_function_reads_later():
    found = of("def f(a=b):\n    return a + c")
    assert found.binds == {"f"} and "b" in found.now and "c" in found.later and "c" not in found.now
