"""Kernels of users' own: numba compiles them, in a built file as in its source, and both play the same."""

from pathlib import Path

import pytest
from kaggle_environments.agent import get_last_callable
from kaggle_environments.utils import structify

from connectx_core import jit
from connectx_toolkit.builder.build import BuildOptions, build
from connectx_toolkit.builder.preflight.trial import Runner, question
from connectx_toolkit.builder.source.inline import inline
from tests.conftest import needs

pytestmark = [pytest.mark.slow, needs("numba: pip install -r requirements.txt", jit.compiles())]

ON_ONE_LINE = """from numba import njit

SIDES = {"mine": njit(lambda c: 10 - abs(c - 3)), "theirs": njit(lambda c: abs(c - 3))}


def on_one_line(obs, config):
    legal = [c for c in range(config.columns) if obs.board[c] == 0]
    is_late = sum(obs.board[-config.columns :][2:5]) == 0 and obs.step > 4  # nobody has played in the centre
    return max(legal, key=SIDES["theirs" if is_late else "mine"])
"""
BOOL_OF_NUMPY = """import numpy as np
from numba import njit


@njit
def score(board, c, is_ending):
    value = 10 - abs(c - 3)
    return value * 2 if is_ending else value + board[len(board) - 1, c]


def bool_of_numpy(obs, config):
    board = np.array(obs.board, np.int64).reshape(config.rows, config.columns)
    is_ending = False
    if obs.step >= 20:
        is_ending = (board != 0).sum() > 22  # no bool of Python's
    return max((c for c in range(config.columns) if board[0, c] == 0), key=lambda c: score(board, c, is_ending))
"""
RAISES = """import numpy as np
from numba import njit


@njit
def count(board, counts, limit):
    for cell in board:
        counts[0] += 1 + cell
        if counts[0] > limit:
            raise RuntimeError("no nodes left")
    return counts[0]


def raises(obs, config):
    counts, legal = np.zeros(1, np.int64), [c for c in range(config.columns) if obs.board[c] == 0]
    try:
        count(np.array(obs.board, np.int64), counts, 50)
    except RuntimeError:
        pass
    return legal[counts[0] % len(legal)]  # what a second run on the same counts would change
"""
AGENT = f"""{ON_ONE_LINE}
{BOOL_OF_NUMPY}
{RAISES}

def agent(obs, config):
    return (on_one_line, bool_of_numpy, raises)[config.get("case", obs.step % 3)](obs, config)
"""
SHOWING: list[list[list[int]]] = [  # of each of the three the positions in which a wrong kernel shows
    [[0, 0, 0, 1, 1, 5], [6, 6, 1, 1, 5, 5, 0], [0, 1, 5, 6, 6, 5]],
    [[], [0, 0, 0, 0, 0, 6, 6, 6, 6, 6, 6, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 5, 5, 5, 5]],
    [[], [3, 3, 3], [3, 3, 3, 3, 3, 0, 0, 1], [0, 1, 0, 1, 2, 3, 2, 3, 5, 5, 6]],
]


def test_a_built_file_plays_as_its_source(tmp_path: Path, runner: Runner) -> None:
    """Two kernels on one line; one that is called with a bool of numpy after one of Python; one that raises midway."""
    (tmp_path / "agent.py").write_text(AGENT)
    report = build(inline(tmp_path / "agent.py"), tmp_path / "built.py", BuildOptions(positions=30), runner)
    assert report.accepted and "different_moves" not in report.figures
    built = (tmp_path / "built.py").read_text()
    assert "DATA[" not in built  # no machine code
    source, file = get_last_callable(AGENT), get_last_callable(built, path=str(tmp_path / "built.py"))
    for case, positions in enumerate(SHOWING):
        for moves in positions:
            _, obs, config = question("", moves, clock=(2.0, 60.0), case=case)[:3]
            assert source(structify(obs), structify(config)) == file(structify(obs), structify(config)), case
