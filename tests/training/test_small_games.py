"""Tic-tac-toe, Nim, and the trees of small games, against rules and minimax written anew."""

import random

import numpy as np
import pytest

from connectx_core.position import geometry_of
from connectx_toolkit.training.opponents import tree_of, tree_player
from connectx_toolkit.training.vector_games import (
    FIRST,
    NOBODY,
    SECOND,
    ConnectX,
    Nim,
    TicTacToe,
    games_named,
)
from tests import oracle

pytestmark = pytest.mark.slow
LINES = [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}]


def test_tictactoe_plays_by_the_rules():
    """Random games, side by side, with lists of cells."""
    rng, games = random.Random(1), TicTacToe(200)
    cells: list[tuple[set, set]] = [(set(), set()) for _ in range(200)]
    for ply in range(9):
        going = np.flatnonzero(~games.done)
        actions = np.array([rng.choice([c for c in range(9) if c not in cells[g][0] | cells[g][1]]) for g in going])
        games.play(actions, going)
        for game, action in zip(going, actions.tolist(), strict=True):
            cells[game][ply % 2].add(action)
            won = any(line <= cells[game][ply % 2] for line in LINES)
            assert games.done[game] == (won or ply == 8)
            assert games.winner[game] == ((FIRST, SECOND)[ply % 2] if won else NOBODY)
            legal = set() if games.done[game] else set(range(9)) - cells[game][0] - cells[game][1]
            assert set(np.flatnonzero(games.legal()[game]).tolist()) == legal
    assert games.done.all() and len(set(games.winner.tolist())) == 3
    with pytest.raises(ValueError, match="not legal"):
        TicTacToe(1).play(np.array([9]))


def test_nim_plays_by_the_rules():
    """Who takes the last token loses; no more can be taken than is there."""
    rng, games = np.random.default_rng(2), Nim(300, 7, 3)
    left = np.full(300, 7)
    while not games.done.all():
        assert (games.tokens_left() == left).all() and (games.boards().sum((1, 2)) == 7 - left).all()
        going, movers = np.flatnonzero(~games.done), games.mover.copy()
        assert (games.legal() == (np.arange(1, 4) <= left[:, None])).all()
        takes = rng.integers(1, np.minimum(left[going], 3) + 1)
        games.play(takes - 1, going)
        left[going] -= takes
        over = going[left[going] == 0]
        assert (games.done == (left == 0)).all() and (games.winner[over] == -movers[over]).all()
    games.reset()
    assert (games.tokens_left() == 7).all() and not games.done.any()


def test_nim_values():
    """The rule of the game's theory: lost if the tokens leave 1 when divided by 4."""
    tree = tree_of(Nim(1, 23, 3))
    left = 23 - tree.boards.sum((1, 2))
    assert sorted(left) == list(range(1, 24))
    assert (tree.values.max(1) == np.where(left % 4 == 1, -1, 1)).all()
    won = left % 4 != 1
    assert (tree.best[won].argmax(1) + 1 == (left[won] - 1) % 4).all() and (tree.best[won].sum(1) == 1).all()


@pytest.mark.parametrize(("name", "positions"), [("tictactoe", 4520), ("3x3k3", 505)])
def test_size_of_trees(name, positions):
    """Tic-tac-toe has 5,478 positions, 958 of which are ends."""
    tree = tree_of(games_named(name))
    assert len(tree) == positions and len(np.unique(tree.boards, axis=0)) == positions


def test_tree_values_are_exact():
    """Every position of 3x3 and some of 4x4, inarow 3: the sign of the oracle's score, move by move."""
    rng = np.random.default_rng(3)
    for size, share in ((3, 1.0), (4, 0.002)):
        tree = tree_of(ConnectX(1, geometry_of(size, size, 3)))
        known: dict[str, int] = {}
        for number in np.flatnonzero(rng.random(len(tree)) < share):
            board = tree.boards[number] * (1 if (tree.boards[number] != 0).sum() % 2 == 0 else -1)
            scores = oracle.move_scores(np.where(board < 0, 2, board).tolist(), 3, known)
            values = {c: int(np.sign(score)) for c, score in scores.items()}
            legal = np.flatnonzero(tree.values[number] != -2)
            assert {int(c): int(tree.values[number, c]) for c in legal} == values


@pytest.mark.parametrize(("name", "cells"), [("lookahead@1", {2}), ("minimax", {2}), ("random", {2, 5, 6, 7, 8})])
def test_opponents_by_name(name, cells):
    """X has 0 and 1, O has 3 and 4, and X is to move: in 2 it wins at once."""
    games = TicTacToe(300)
    for cell in (0, 3, 1, 4):
        games.play(np.full(300, cell))
    player = tree_player(tree_of(TicTacToe(1)), name, np.random.default_rng(5))
    assert set(player(games, np.arange(300)).tolist()) == cells
    if name != "minimax":  # on the empty board, nothing is won yet
        assert set(player(TicTacToe(300), np.arange(300)).tolist()) == set(range(9))


def test_numbers_of_positions():
    """And a look-ahead to the end of the game is exact."""
    tree = tree_of(TicTacToe(1))
    assert (tree.look_ahead(9) == tree.values).all()
    order = np.random.default_rng(5).permutation(len(tree))
    assert (tree.numbers(tree.boards[order]) == order).all()
    with pytest.raises(ValueError, match="not a position"):
        tree.numbers(np.ones((1, 3, 3), np.int8))
