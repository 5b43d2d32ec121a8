"""Threats, by trying every move, and by the exact solver."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from connectx.geometry import STANDARD
from connectx.nets.afterstates import Afterstates, afterstates, chances_of_moves, expected_results, policy_of
from connectx.nets.threats import LONGEST, after_forced_replies, wins_by_threats
from connectx.position import Position
from connectx.solver import Solver
from tests.conftest import random_game


def stones_of(positions: list[Position]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([p.position for p in positions], np.int64), np.array([p.mask for p in positions], np.int64)


def at(positions: np.ndarray, masks: np.ndarray) -> Iterator[Position]:
    return (Position(*stones, STANDARD) for stones in zip(positions.tolist(), masks.tolist(), strict=True))


@pytest.fixture(scope="module")
def positions() -> list[Position]:
    """Of random games, with 12 and more stones."""
    rng = random.Random(5)
    return [position for _ in range(60) for position in random_game(STANDARD, rng) if position.ply >= 12]


@pytest.fixture(scope="module")
def states(positions) -> tuple[Afterstates, Afterstates]:
    """Quiet ones, before and after threats are looked for."""
    quiet = afterstates(*stones_of(positions), STANDARD)
    return quiet, after_forced_replies(quiet, STANDARD)


def threatens(position: Position, longest: int) -> bool:
    """Whether the side to move wins by threats, by trying every move and every answer."""
    if position.winning_columns():
        return True
    for column in position.legal_columns() if longest else ():
        after = position.play(column)
        if after.winning_columns() or not after.pass_turn().winning_columns():
            continue
        answers = [after.play(answer) for answer in after.legal_columns()]
        if all(threatens(answer, longest - 1 if not answer.winning_columns() else 0) for answer in answers):
            return True
    return False


def test_wins_by_threats(states):
    quiet, _ = states
    found = wins_by_threats(quiet.positions, quiet.masks, STANDARD)
    assert 0.05 < found.mean() < 0.5
    for is_won, position in zip(found.tolist(), at(quiet.positions, quiet.masks), strict=True):
        assert is_won == threatens(position, LONGEST)


def test_results_are_those_of_perfect_play(states):
    """What threats decide, and what a move leads to once replies are followed, has the result of the move."""
    quiet, after = states
    solver, followed = Solver(STANDARD, 20), 0
    before, ends = at(quiet.positions, quiet.masks), at(after.positions, after.masks)
    for result, was_own, is_own, start, end in zip(after.proven, quiet.is_own, after.is_own, before, ends, strict=True):
        truth = np.sign(solver.solve(start).low) * (1 if was_own else -1)
        assert result in (0, truth)
        if start != end:
            followed += 1
            assert truth == np.sign(solver.solve(end).low) * (1 if is_own else -1)
            assert (end.ply - start.ply) % 2 == (was_own != is_own)
    assert followed > 10 and (after.proven == 1).sum() > 20 and (after.proven == -1).sum() > 20
    assert (after.scores == quiet.scores).all() and not quiet.proven.any()


def test_chances_of_known_results(states):
    """Only scores of the known result are possible, in the proportions that they had."""
    _, after = states
    chances = np.random.default_rng(1).dirichlet(np.ones(43), len(after.masks)).astype(np.float32)
    moves = chances_of_moves(chances, after)
    assert np.allclose(moves.sum(2), 1, atol=1e-5)
    asked = moves[after.rows, after.columns]
    known, results = after.proven != 0, expected_results(moves)[after.rows, after.columns]
    assert np.allclose(results[known], after.proven[known], atol=1e-5)
    own = np.where(after.is_own[:, None], chances, chances[:, ::-1])
    won = after.proven == 1
    assert np.allclose(asked[~known], own[~known], atol=1e-6)
    assert np.allclose(asked[won, 22:], own[won, 22:] / own[won, 22:].sum(1, keepdims=True), atol=1e-6)


def test_what_threats_prove_is_played(positions, states):
    """However much a network likes another move."""
    _, after = states
    rng, rows, none = np.random.default_rng(2), np.arange(len(positions)), np.iinfo(np.int8).min
    moves = chances_of_moves(rng.dirichlet(np.full(43, 0.1), len(after.masks)).astype(np.float32), after)
    chosen = policy_of(rng.normal(0, 8, len(after.masks)).astype(np.float32), moves, after).argmax(1)
    proven = np.full((len(positions), 7), none, np.int8)
    proven[after.rows, after.columns] = after.proven
    asked = proven.max(1) > none
    assert (proven[rows, chosen] == proven.max(1))[asked & (proven.max(1) != 0)].all()
    assert (proven[rows, chosen] == 0)[proven.max(1) == 0].all()
    assert ((proven == -1).any(1) & (proven.max(1) == 0)).sum() > 20 and (proven == 1).any(1).sum() > 20


def test_nothing_is_claimed_of_a_full_board():
    rng, full = random.Random(1), list[Position]()
    while len(full) < 3:
        *_, last = random_game(STANDARD, rng)
        ends = [last.play(column) for column in last.legal_columns()]
        full += [end for end in ends if end.is_full() and not end.is_lost()]
    stones, rows = stones_of(full), np.arange(len(full))
    assert not wins_by_threats(*stones, STANDARD).any()
    quiet, nobody = afterstates(*stones, STANDARD), np.zeros(len(full), np.int8)
    assert not quiet.masks.size
    reached = quiet._replace(
        rows=rows, columns=rows, positions=stones[0], masks=stones[1], is_own=nobody != 0, proven=nobody
    )
    after = after_forced_replies(reached, STANDARD)
    assert not after.proven.any() and (after.masks == stones[1]).all()
