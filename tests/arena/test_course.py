"""The course's four lines, against kaggle_environments' own ``evaluate``.

This file needs no more than the oldest supported version has: CONTRIBUTING.md says how to run it with that.
"""

import contextlib
import io
from collections.abc import Callable

import numpy as np
import pytest
from kaggle_environments import agent as kaggle_agent
from kaggle_environments import evaluate

from evaluate import get_win_percentages
from tests.conftest import REAL_CLOCK
from tests.misbehaving import CASES, Clock

pytestmark = pytest.mark.slow
DRAWN = "146660203633536103043506522512202545444111"


def course_lines(agent1: Callable, agent2: Callable, n_rounds: int = 100) -> list[str]:
    """What the course prints: agent 1 moves first in half of the games, and results are by Kaggle's two rewards."""
    config = {"rows": 6, "columns": 7, "inarow": 4}
    results = [tuple(pair) for pair in evaluate("connectx", [agent1, agent2], config, [], n_rounds // 2)]
    swapped = evaluate("connectx", [agent2, agent1], config, [], n_rounds - n_rounds // 2)
    results += [(own, other) for other, own in swapped]
    return [
        f"Agent 1 Win Percentage: {np.round(results.count((1, -1)) / n_rounds, 2)}",
        f"Agent 2 Win Percentage: {np.round(results.count((-1, 1)) / n_rounds, 2)}",
        f"Number of Invalid Plays by Agent 1: {results.count((None, 0))}",
        f"Number of Invalid Plays by Agent 2: {results.count((0, None))}",
    ]


def our_lines(agent1: Callable, agent2: Callable, n_rounds: int = 100, **options) -> list[str]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        get_win_percentages(agent1, agent2, n_rounds, **options)
    lines = out.getvalue().splitlines()
    assert lines[4] == ""
    return lines[:4]


def middle(obs, config):
    return config.columns // 2  # full after six stones


def leftmost(obs, config):
    return next(column for column in range(config.columns) if not obs.board[column])


def rightmost(obs, config):
    return next(column for column in reversed(range(config.columns)) if not obs.board[column])


def draws(obs, config):
    """Against itself."""
    return int(DRAWN[obs.step])


def raises_late(obs, config):
    if obs.step > 7:
        raise KeyError("late")
    return leftmost(obs, config)


def returns_none(obs, config):
    return None


def takes_the_board(obs):
    """An agent with one argument."""
    return obs.board.index(0) % 7


AGENTS: dict[str, Callable] = {
    "full column": middle,
    "wins": leftmost,
    "raises late": raises_late,
    "None": returns_none,
    "one argument": takes_the_board,
    **{name: CASES[name].agent for name in ("raises", "returns an exception", "numpy int", "bool", "text", "negative")},
}


@pytest.mark.parametrize("name", AGENTS)
def test_the_courses_lines(name):
    """In both seats, with an odd number of games, in this process; and once in processes of the agents' own."""
    agent = AGENTS[name]
    for one, other in ((agent, rightmost), (rightmost, agent), (agent, agent)):
        assert our_lines(one, other, 3, isolate=False) == course_lines(one, other, 3)
    assert our_lines(agent, rightmost, 3) == course_lines(agent, rightmost, 3)


def test_draws_are_nobodys_win():
    lines = our_lines(draws, draws, 3)
    assert lines == course_lines(draws, draws, 3) and [line.rpartition(" ")[2] for line in lines[:2]] == ["0.0", "0.0"]


@REAL_CLOCK  # by which a load of next to nothing is charged, on top of what is just allowed
@pytest.mark.parametrize("seconds", [2.0, 7.0, 62.0, 62.5])
def test_the_courses_lines_of_timeouts(seconds, monkeypatch):
    """Each move takes so long: 12 of 7 s use up the overage time of 60 s, and 62 s are just allowed once."""
    clock = Clock()
    monkeypatch.setattr(kaggle_agent, "perf_counter", clock)

    def dawdles(obs, config):
        clock.now += seconds
        return int("0123456"[obs.step // 2 % 7])

    for agents in ((dawdles, draws), (draws, dawdles), (dawdles, dawdles)):
        assert our_lines(*agents, 3, isolate=False) == course_lines(*agents, 3)
