"""Tests of the one thread that networks compute on in numpy."""

import numpy as np
import pytest

from connectx_core.network import PlainNetwork
from connectx_core.threads import one_thread, thread_functions
from connectx_toolkit.system.files import WEIGHTS


@pytest.fixture(params=[2, 3])
def threads(request):
    before = [get() for get, _ in thread_functions()]
    for _, put in thread_functions():
        put(request.param)
    yield request.param
    for count, (_, put) in zip(before, thread_functions(), strict=True):
        put(count)


def counts() -> set[int]:
    return {get() for get, _ in thread_functions()}


def test_one_thread_and_afterwards_as_before(threads):
    """Also where one context lies within another, and where what is computed fails."""
    assert counts() == {threads}
    with one_thread():
        with one_thread():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {threads}
    with pytest.raises(ZeroDivisionError), one_thread():
        1 / 0  # noqa: B018
    assert counts() == {threads}


def test_networks_compute_on_one_thread(threads, monkeypatch):
    network, seen = PlainNetwork.from_bytes((WEIGHTS / "value_greedy.bin").read_bytes()), list[set[int]]()

    def relu(x: np.ndarray) -> np.ndarray:
        seen.append(counts())
        return np.maximum(x, 0)

    monkeypatch.setattr(network, "relu", relu)
    network.evaluate_many(np.zeros(1, np.int64), np.zeros(1, np.int64))
    assert seen and all(number == {1} for number in seen) and counts() == {threads}
