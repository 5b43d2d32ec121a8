"""The batches of games against the bitboard, which is tested against Kaggle's rules."""

import numpy as np
import pytest

from connectx_core.position import STANDARD, Position
from connectx_toolkit.training.vector_games import FIRST, NOBODY, ConnectX

pytestmark = pytest.mark.slow


def random_actions(games, rng) -> np.ndarray:
    """(n,) int64: a random legal action in each game; 0 where there is none."""
    return np.argmax(games.legal() * rng.random((len(games), games.actions)), axis=1)


def test_connectx_equals_the_bitboard(geometry):
    """The same columns give the same board, seen by the side to move, legal columns, end and winner."""
    rng, games = np.random.default_rng(2), ConnectX(30, geometry)
    positions = [Position.empty(geometry)] * len(games)
    while not games.done.all():
        going = np.flatnonzero(~games.done)
        actions = random_actions(games, rng)[going]
        games.play(actions, going)
        for game, column in zip(going, actions.tolist(), strict=True):
            positions[game] = positions[game].play(column)
        mine = [[mark and (1 if mark == 1 + p.ply % 2 else -1) for mark in p.to_board()] for p in positions]
        assert games.boards().reshape(len(games), -1).tolist() == mine
        assert games.plies.tolist() == [p.ply for p in positions]
        assert games.done.tolist() == [p.is_over() for p in positions]
        winners = np.where([p.is_lost() for p in positions], -games.mover, NOBODY)
        legal = [[c in p.legal_columns() and not p.is_over() for c in range(geometry.columns)] for p in positions]
        assert (games.winner == winners).all() and games.legal().tolist() == legal
        if geometry.fits_word:
            stones, masks = games.bitboards()
            assert [(int(s), int(m)) for s, m in zip(stones, masks, strict=True)] == [p[:2] for p in positions]


def test_children_are_every_legal_move():
    rng, games = np.random.default_rng(3), ConnectX(20, STANDARD)
    for _ in range(12):
        going = np.flatnonzero(~games.done)
        games.play(random_actions(games, rng)[going], going)
    before = games.stones.copy()
    children, parents, actions = games.children()
    assert len(children) == games.legal().sum() and (games.stones == before).all()
    for child, parent, action in zip(range(len(children)), parents, actions, strict=True):
        (row,), (column,) = np.nonzero(children.stones[child] != before[parent])
        assert column == action and children.stones[child, row, column] == games.mover[parent]


def test_reset_touches_the_chosen_games_only():
    games = ConnectX(3, STANDARD)
    for _ in range(4):
        games.play(np.array([0, 1]), np.array([0, 2]))
    games.reset(np.array([0]))
    assert games.plies.tolist() == [0, 0, 4] and not games.stones[0].any() and games.stones[2].any()


@pytest.mark.parametrize("action", [-1, 7, 3])
def test_illegal_actions_are_refused(action):
    """Beyond the board on either side, and a full column; nothing is played in any game."""
    games = ConnectX(2, STANDARD)
    for _ in range(6):
        games.play(np.array([3, 0]))
    games.reset(np.array([1]))
    with pytest.raises(ValueError, match=f"action {action} is not legal in game 0 at ply 6"):
        games.play(np.array([action, 2]))
    assert games.plies.tolist() == [6, 0]


def test_a_game_that_is_over_is_not_played_on():
    games = ConnectX(1, STANDARD)
    for column in (0, 1, 0, 1, 0, 1, 0):
        games.play(np.array([column]))
    assert games.winner[0] == FIRST and not games.legal().any()
    with pytest.raises(ValueError, match="which is over"):
        games.play(np.array([5]))
