"""One worker and several: the same results, also where one is killed."""

import os
import signal
from functools import partial

import pytest

from connectx_toolkit.system.workers import MOST_DEATHS, local_workers

pytestmark = pytest.mark.slow


def square(number: int) -> int:
    return number * number


def dies_on_the_first_call(note: str, number: int) -> int:
    """Kills its own process unless another one has left the note."""
    if number == 7 and not os.path.exists(note):
        open(note, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def dies(note: str, number: int) -> None:
    with open(note, "a") as file:
        file.write(".")
    os.kill(os.getpid(), signal.SIGKILL)


def nothing() -> None:
    pass


def refuses(number: int) -> int:
    raise ValueError(f"no {number}")


def test_the_same_results_for_any_number():
    expected = {number: square(number) for number in range(300)}
    for count in (1, 2):
        with local_workers(count, nothing) as workers:
            assert dict(workers.map_unordered(square, range(300))) == expected


def test_a_killed_worker_loses_nothing(tmp_path):
    note = tmp_path / "note"
    with local_workers(2, nothing) as workers:
        found = list(workers.map_unordered(partial(dies_on_the_first_call, str(note)), range(100)))
    assert note.exists() and sorted(found) == [(number, square(number)) for number in range(100)]


def test_work_that_kills_every_worker_ends(tmp_path):
    note = tmp_path / "note"
    with local_workers(1, nothing) as workers, pytest.raises(RuntimeError, match="died over the same work"):
        list(workers.map_unordered(partial(dies, str(note)), [1]))
    assert len(note.read_text()) == MOST_DEATHS + 1


def test_what_the_function_raises_is_raised():
    with local_workers(1, nothing) as workers, pytest.raises(ValueError, match="no 1"):
        list(workers.map_unordered(refuses, [1]))
