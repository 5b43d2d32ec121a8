"""The heuristics that benchmarks.tuning tunes, and the method that it compares with."""

import shutil

import pytest

from benchmarks import tuning
from benchmarks.tuning import HEURISTICS, NAMES, place_of, spsa, value_at
from connectx_toolkit.arena.match import open_pool
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Setup
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.tuning.numbers import numbers_in
from connectx_toolkit.tuning.objective import Positions, for_tuning


@pytest.mark.parametrize("name", NAMES)
def test_a_heuristic_plays_without_faults_and_has_numbers(name):
    path = HEURISTICS / f"{name}.py"
    assert len(numbers_in(path.read_text())) >= 2
    with open_pool(Setup(Rules())) as pool:
        (step,) = Positions(for_tuning(5), 1).steps(pool.slot, resolve(path))
    assert step.faults == [] and step.cost < 8


def test_places_are_values():
    text = "A = 10.0  # tune: 0.1 to 1000 log\nB = 3  # tune: 1 to 5\nC = 'b'  # tune: a, b, c\n"
    text += "D = -1.0  # tune: -4 to 4\n"
    for number in numbers_in(text):
        assert value_at(number, place_of(number)) == number.value
    first, second, third, _ = numbers_in(text)
    assert [value_at(first, place) for place in (-1, 0, 0.5, 1, 2)] == [0.1, 0.1, 10.0, 1000, 1000]
    assert [value_at(second, place) for place in (0, 1)] == [1, 5] and value_at(third, 1.0) == "c"


def test_spsa_moves_to_the_winner_and_goes_on(tmp_path, monkeypatch):
    for name in ("course_1.py", "bits.py"):
        shutil.copy(HEURISTICS / name, tmp_path / name)
    agent, folder = tmp_path / "course_1.py", tmp_path / "kept"
    start = {n.name: place_of(n) for n in numbers_in(agent.read_text())}
    monkeypatch.setattr(tuning, "pair_result", lambda slot, job: (1.0, 0.001))
    first = spsa(agent, folder, 0.004, 1, [()])
    assert first["pairs"] > 0 and first["places"] != start
    again = spsa(agent, folder, 0.008, 1, [()])
    assert again["pairs"] > first["pairs"] and spsa(agent, folder, 0.004, 1, [()]) == again
