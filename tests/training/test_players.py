"""Vectorised play: what is sampled, whose turn it is, what is recorded."""

import numpy as np
import pytest

from connectx_core.position import STANDARD
from connectx_toolkit.training.vector_games import (
    FIRST,
    NO_ACTION,
    ConnectX,
    alternating,
    greedy_player,
    play_games,
    random_player,
    replay,
    sample,
)

pytestmark = pytest.mark.slow


def test_sampling_follows_the_softmax_of_legal_actions():
    logits, legal = np.array([0.0, 1.0, 2.0, 5.0]), np.array([True, True, True, False])
    drawn = sample(np.tile(logits, (40_000, 1)), np.tile(legal, (40_000, 1)), np.random.default_rng(1))
    expected = np.exp(logits) * legal / (np.exp(logits) * legal).sum()
    assert np.abs(np.bincount(drawn, minlength=4) / 40_000 - expected).max() < 0.01


def test_seats_alternate_in_blocks():
    assert alternating(40, 10).tolist() == ([True] * 10 + [False] * 10) * 2
    assert alternating(10, 10, start=15).tolist() == [False] * 5 + [True] * 5


def test_play_is_recorded_as_it_was():
    """Each player is asked on its own turns only, and the replayed moves end in the same boards."""
    rng, games, leads = np.random.default_rng(3), ConnectX(60, STANDARD), alternating(60, 10)
    turns: list[tuple[bool, bool]] = []

    def watched(games, which):
        turns.extend(zip(leads[which].tolist(), (games.plies[which] % 2 == 0).tolist(), strict=True))
        return random_player(rng)(games, which)

    played = play_games(games, (watched, random_player(rng)), leads)
    assert turns and all(lead == even for lead, even in turns)
    again = ConnectX(60, STANDARD)
    moved = sum(len(which) for which in replay(again, played.moves))
    assert moved == (played.moves != NO_ACTION).sum() and (again.stones == games.stones).all()
    assert (again.winner == played.winner).all() and again.done.all()


def test_outcomes_are_the_first_players():
    """A player of column 0 beats one of the rightmost column if it leads, and loses if it follows."""
    left = greedy_player(lambda boards: np.tile(np.arange(7.0)[::-1], (len(boards), 1)))
    right = greedy_player(lambda boards: np.tile(np.arange(7.0), (len(boards), 1)))
    played = play_games(ConnectX(4, STANDARD), (left, right), np.array([True, True, False, False]))
    assert played.winner.tolist() == [FIRST] * 4 and played.outcomes().tolist() == [1, 1, -1, -1]
    assert played.counts() == (2, 0, 2)
