"""Which questions a comparison asks, and whether two sides that draw their moves draw alike."""

import os
import threading
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from connectx_toolkit.builder.comparison import LEAST_ROUNDS, ROUNDS, Draws, units_by_kind
from connectx_toolkit.builder.originals import Source
from connectx_toolkit.builder.source.inline import inline
from connectx_toolkit.kaggle import replies
from connectx_toolkit.kaggle.replies import ask_in_turn
from connectx_toolkit.system import cores
from tests.conftest import LINUX


def draws_of(chances: tuple[list[float], list[float]], questions: int, rounds: int, seed: int) -> Draws:
    """What two sides with these chances of each column draw."""
    rng, draws = np.random.default_rng(seed), Draws()
    for _ in range(rounds):
        first, second = (list(map(str, rng.choice(len(p), questions, p=p))) for p in chances)
        draws.rounds.append((first, second))
    return draws


@pytest.mark.parametrize("rounds", [LEAST_ROUNDS, ROUNDS])
@pytest.mark.parametrize(("columns", "questions"), [(2, 1), (7, 1), (4, 60), (7, 300)])
def test_a_faithful_file_is_not_blamed(columns, questions, rounds):
    even = [1 / columns] * columns
    assert not any(draws_of((even, even), questions, rounds, seed).are_apart for seed in range(200))


def test_what_draws_otherwise_is_blamed():
    """From 3 columns in place of 4, in 60 positions; always another move, in one."""
    few, even = [1 / 3, 1 / 3, 1 / 3, 0.0], [0.25] * 4
    assert all(draws_of((even, few), 60, ROUNDS, seed).are_apart for seed in range(50))
    assert draws_of(([1.0, 0.0], [0.0, 1.0]), 1, ROUNDS, 0).are_apart
    assert not draws_of(([1.0, 0.0], [1.0, 0.0]), 5, ROUNDS, 0).are_apart


def test_a_load_that_slows_all_moves_of_a_turn_blames_nobody():
    """Whoever is slowed plays column 0 in all positions: chi-square takes these for many draws."""
    rng, blamed = np.random.default_rng(1), [0, 0]
    for _ in range(200):
        draws = Draws()
        for _ in range(ROUNDS):
            draws.rounds.append((["0" if rng.random() < 0.3 else "3"] * 20, ["0" if rng.random() < 0.3 else "3"] * 20))
        blamed[0] += draws.are_apart
        blamed[1] += draws.are_apart and draws.are_apart_in_each_round
    assert blamed[0] > 10 and blamed[1] <= 1
    assert draws_of(([1.0, 0.0], [0.1, 0.9]), 20, ROUNDS, 0).are_apart_in_each_round


def test_all_openings_are_asked_and_whole_games_from_both_seats():
    kinds = units_by_kind(20)
    boards = {tuple(each["obs"]["board"]) for each in kinds["openings"]}
    assert len(boards) == len(kinds["openings"]) == 1 + 7 + 49 + 238
    replies = list(ask_in_turn(leftmost, kinds))
    assert {tuple(r["obs"]["board"]) for r in replies if r["kind"] == "openings"} == boards
    games = [[r["obs"] for r in replies if r["kind"] == "games" and r["unit"] == n] for n in range(6)]
    assert [game[0]["step"] for game in games] == [0, 1] * 3 and min(map(len, games)) >= 3
    for game in games:
        assert [obs["step"] for obs in game] == list(range(game[0]["step"], game[0]["step"] + 2 * len(game), 2))
        for before, after in pairwise(game):
            assert sum(a != b for a, b in zip(before["board"], after["board"], strict=True)) == 2


@pytest.mark.parametrize("seconds", [0.5, 1.5])
def test_each_kind_gets_its_share_of_the_time(seconds):
    asked = list(ask_in_turn(lambda each: leftmost(each) | {"seconds": seconds}, units_by_kind(120), stop_after=40.0))
    counts = Counter(reply["kind"] for reply in asked)
    assert 40 <= sum(reply["seconds"] for reply in asked) < 40 + seconds + 0.1
    assert all(counts[kind] * seconds > 5 for kind in ("games", "openings", "positions"))


def leftmost(question) -> dict:
    board, columns = question["obs"]["board"], question["config"]["columns"]
    column = next(c for c in range(columns) if board[c] == 0)
    return {"column": column, "seconds": 0.001, "waited": 0.0}


@pytest.mark.parametrize(
    ("line", "imports"),
    [
        ("import numpy, torch as th", ["torch"]),
        ("from torch.nn import functional", ["torch"]),
        ("def load():\n    import torch", ["torch"]),
        ("import connectx_core.network", []),  # whose words are of torch
        ("NAME = 'torch'", []),
    ],
)
def test_torch_is_imported_first_for_those_that_import_it(line, imports, tmp_path):
    """It draws a seed as it is imported, which is none of the agent's draws."""
    (tmp_path / "agent.py").write_text(f"{line}\n\n\ndef agent(obs, config):\n    return 0\n")
    assert Source(inline(tmp_path / "agent.py")).imports == imports


@LINUX
def test_threads_of_numpy_are_not_the_files(monkeypatch):
    """It starts one for each core that it may run on, also where a container's quota pays for less."""
    monkeypatch.setattr(cores, "_quota", lambda: 0.5)
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # other tests may have left some here
    listed = [*map(str, range(len(cores.all_cores()) + 2))]
    monkeypatch.setattr(os, "listdir", lambda path: listed)
    assert replies.count_threads() == 1
    listed += ["one", "more"]
    assert replies.count_threads() == len(listed)
