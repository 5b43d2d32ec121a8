"""What supervised learners are measured on: boards that no game has which they learn from, and the others."""

import numpy as np
import pytest

from connectx_toolkit.training.supervised import Examples, Parts, split_games
from connectx_toolkit.training.vector_games import BLOCK, alternating

pytestmark = pytest.mark.slow


def first_stones(columns: np.ndarray) -> Parts:
    """The parts of games that each begin in their column; the answers are the games' numbers."""

    def examples_of(games: np.ndarray) -> Examples:
        boards = np.zeros((len(games), 6, 7), np.int8)
        boards[np.arange(len(games)), -1, columns[games]] = 1
        return Examples(boards, games)

    return split_games(len(columns), examples_of)


def test_a_new_board_is_in_no_game_that_is_learnt():
    """Nor is its mirror image: game 0 begins as games 1 to 20 do, mirrored, and game 21 as no other."""
    columns = np.full(40, 6)
    columns[[0, 21]] = 0, 3
    training, new, known = first_stones(columns)
    assert (new.answers.tolist(), known.answers.tolist()) == ([21], [0])
    assert not {0, 21} & set(training.answers.tolist()) and len(training.answers) == 38
    with pytest.raises(ValueError, match="20 games are too few: of those held out, no board is new"):
        first_stones(columns[:20])


def test_both_seats_are_held_out_alike():
    """Of a learner whose seats swap as everywhere. A board is a game's number in binary."""
    seats = alternating(4200, BLOCK)

    def examples_of(games: np.ndarray) -> Examples:
        boards = (games[:, None] >> np.arange(42) & 1).reshape(-1, 6, 7).astype(np.int8)
        boards[games < 100] = 0  # known
        return Examples(boards, seats[games].astype(np.int64))

    training, *held_out = split_games(4200, examples_of)
    assert np.concatenate([part.answers for part in held_out]).mean() == training.answers.mean() == 0.5
