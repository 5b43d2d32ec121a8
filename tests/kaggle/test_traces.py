"""What a trace tells: lines that never ran, and errors that are caught by a handler for any."""

import contextlib
import ctypes
import threading
import time

import pytest

from connectx_toolkit.kaggle import traces
from connectx_toolkit.kaggle.traces import Trace

SOURCE = '''def agent(n):
    """Words."""
    if n == 1:
        return rare(n)

    if n > 100:
        a = [
            m
            for m in range(n)
        ]

        return a
    return kept(n) + sum(x for x in range(n))


def kept(n):
    return n


def rare(n):
    while n:
        n -= 1
        if n > 7: raise ValueError
    return n


@nb.njit
def kernel(n):
    return n


def mine(n):
    return n


search = nb.Searcher(evaluate=mine)
'''
CAUGHT = """def agent(table, n):
    try:
        try:
            return look(table, n)
        {inner}
    except (OSError, Exception):
        return {outer}


def look(table, n):
    return table[n]
"""


@pytest.fixture
def agent_of(tmp_path):
    """The agent of a source, and a trace of its file."""

    def load(text: str):
        path = tmp_path / "agent.py"
        path.write_text(text)
        names: dict = {"nb": type("numba", (), {"njit": staticmethod(lambda function: function), "Searcher": dict})}
        exec(compile(text, str(path), "exec"), names)
        return names["agent"], Trace([str(path)]), str(path)

    return load


@pytest.mark.parametrize(
    ("asked", "never"),
    [
        ([2], [[4, 4], [7, 12], [21, 24]]),
        ([2, 1], [[7, 12]]),
        ([2, 1, 200], []),
        ([200], [[4, 4], [13, 24]]),
    ],
)
def test_lines_that_never_ran(asked, never, agent_of):
    agent, trace, path = agent_of(SOURCE)
    assert [trace.call(agent, n) for n in asked]
    found = trace.result()
    assert found["count"] == len(asked)
    assert [[*piece] for piece in found["never"].get(path, [])] == never


@pytest.mark.parametrize(
    ("inner", "outer", "count"),
    [
        ("finally:\n            pass", "0", 2),
        ("except KeyError:\n            return 0", "0", 0),  # which is meant
        ("except IndexError:\n            return 0", "0", 2),
        ("except:\n            return 0", "0", 2),
        ("except BaseException:\n            raise", "0", 2),
    ],
)
def test_errors_that_are_caught_by_a_handler_for_any(inner, outer, count, agent_of):
    agent, trace, path = agent_of(CAUGHT.format(inner=inner, outer=outer))
    assert [trace.call(agent, {1: 5}, n) for n in (1, 2, 3, 2)] == [5, 0, 0, 0]
    line = 10 + len(inner.splitlines())
    assert trace.result()["caught"] == (
        [["KeyError: 2", path, line, 2], ["KeyError: 3", path, line, 1]] if count else []
    )


def test_an_error_that_is_raised_again_is_not_caught(agent_of):
    agent, trace, _ = agent_of(
        CAUGHT.format(inner="finally:\n            pass", outer="0").replace("return 0", "raise")
    )
    with pytest.raises(KeyError):
        trace.call(agent, {}, 1)
    assert trace.result()["caught"] == []


def test_an_exception_that_waits_for_a_thread_stops_no_trace(agent_of):
    asleep, woken = threading.Event(), threading.Event()

    def wait() -> None:
        with contextlib.suppress(KeyError):
            asleep.set()
            woken.wait()
            woken.is_set()

    thread = threading.Thread(target=wait)
    thread.start()
    asleep.wait()
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(KeyError))
    try:
        agent, trace, _ = agent_of("def agent(n):\n    return n\n")
        assert trace.call(agent, 3) == 3
    finally:
        woken.set()
        thread.join()


def test_it_takes_its_share_of_the_time_alone(agent_of):
    agent, trace, _ = agent_of("def agent(n):\n    if n < 0:\n        return 1\n    return n and agent(n - 1)\n")
    times = []
    for _ in range(300):
        started = time.process_time()
        trace.call(agent, 900)
        times.append(time.process_time() - started)
    assert 0 < trace.count < 150 and sorted(times)[150] < 0.5 * max(times)
    assert traces.TRACING_SHARE < 0.1
