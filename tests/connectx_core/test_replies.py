"""The model of replies: what each kind sees, what a game tells of the opponent, the model's file."""

from pathlib import Path

import numpy as np
import pytest

from agents import perfect
from connectx_core.books import openings
from connectx_core.exact import move_values
from connectx_core.opponent import (
    BLUNDER,
    NO_MOVE,
    SKILLS,
    Opponent,
    ReplyModel,
    Skill,
    columns_of_scores,
    move_probabilities,
    plies_after_moves,
)
from connectx_core.position import STANDARD, Position, geometry_of
from connectx_core.solver import Solver
from connectx_core.weights import pack, unpack

MODEL = perfect.opponent.model
EVEN = np.zeros((1, 7))  # logits without preference


def chances_of(kind: Skill, scores: list[int | None], lengths: list[int]) -> np.ndarray:
    """What one kind plays without a preference, without blunders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("connectx_core.opponent.SKILLS", (kind,))
        patch.setattr("connectx_core.opponent.BLUNDER", 0.0)
        return move_probabilities(columns_of_scores([scores]), np.array([lengths]), EVEN)[0, 0]


def test_a_kind_avoids_what_loses_within_its_horizon():
    """And beyond it, it does not know."""
    scores, lengths = [0, -3, -1, 0, None, 0, 0], [20, 6, 12, 20, 1, 20, 20]
    assert chances_of(Skill(6, 1.0), scores, lengths).round(3).tolist() == [0.2, 0, 0.2, 0.2, 0, 0.2, 0.2]
    assert chances_of(Skill(12, 1.0), scores, lengths).round(3).tolist() == [0.25, 0, 0, 0.25, 0, 0.25, 0.25]
    assert chances_of(Skill(5, 1.0), scores, lengths)[1] == pytest.approx(1 / 6)


def test_a_kind_takes_the_quickest_win_and_the_slowest_loss():
    wins, lengths = [5, 4, 0, -1, -1, None, 0], [3, 5, 9, 8, 8, 1, 9]
    assert chances_of(Skill(5, 1.0), wins, lengths).tolist() == [1, 0, 0, 0, 0, 0, 0]
    losses, lengths = [-5, -4, -4, -5, None, -5, -5], [4, 6, 6, 4, 1, 4, 4]
    assert chances_of(Skill(6, 1.0), losses, lengths).tolist() == [0, 0.5, 0.5, 0, 0, 0, 0]


def test_the_policy_decides_beyond_the_horizon():
    """The lower the temperature, the more so; a blunder may be any move."""
    logits = np.array([[0.0, 0, 0, 2.0, 0, 0, 0]])
    chances = move_probabilities(np.zeros((1, 7), np.int64), np.full((1, 7), 30), logits)[0]
    assert np.allclose(chances.sum(1), 1)
    by_kind = dict(zip(SKILLS, chances[:, 3], strict=True))
    assert by_kind[Skill(1, 0.3)] > by_kind[Skill(1, 1.0)] > by_kind[Skill(1, 2.5)] > 1 / 7
    assert chances.min() >= BLUNDER / 7


def test_lengths_are_those_of_perfect_play():
    """Played out by the solver from late positions, and 1 where a stone makes a line."""
    solver = Solver(STANDARD)
    moves = [3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 4, 4, 4, 4, 1, 1, 1, 1, 5, 5, 5, 5]
    start = Position.from_moves(moves, STANDARD)
    scores = [None if value is None else value.low for value in move_values(start, solver)]
    lengths = plies_after_moves(
        np.array([start.position]), np.array([start.mask]), columns_of_scores([scores]), STANDARD
    )[0]
    for column in start.legal_columns():
        position, plies = start.play(column), 1
        while not position.is_over():
            values = [value.low if value else NO_MOVE for value in move_values(position, solver)]
            position, plies = position.play(int(np.argmax(values))), plies + 1
        assert lengths[column] == plies


def test_an_opponent_is_known_by_its_moves():
    """Only-moves that only strong types find raise their share; a new game forgets."""
    opponent = Opponent(MODEL)
    position = Position.from_moves([3, 3], STANDARD)
    scores = openings().scores(position)
    assert scores is not None and opponent.belief is MODEL.prior
    chances = MODEL.chances([position], columns_of_scores([scores]))[0]
    assert np.allclose(chances.sum(1), 1)
    for column in position.legal_columns():
        opponent.forget()
        opponent.learn(position, column, scores)
        ratio = opponent.belief / MODEL.prior
        assert opponent.belief.sum() == pytest.approx(1)
        assert ratio.argmax() == chances[:, column].argmax() and ratio.argmin() == chances[:, column].argmin()
    opponent.forget()
    assert opponent.belief is MODEL.prior


def test_estimates_are_points():
    """From 0 to 1 for each type; other boards get a rate."""
    for positions in (
        [Position.from_moves(moves, STANDARD) for moves in ([3], [3, 3, 3], [0, 1, 2])],
        [Position.empty(geometry_of(4, 5, 3))],
    ):
        for estimate in (MODEL.gains_at_their_turn(positions), MODEL.gains_at_our_turn(positions)):
            assert estimate.shape == (len(positions), len(MODEL.prior))
            assert (estimate > 0).all() and (estimate < 1).all()


def test_file():
    """What is written is read back; another container, or one that does not fit, is refused."""
    forecast = unpack((Path(perfect.__file__).parent / "weights" / "perfect_replies.bin").read_bytes())[0][
        "gifts"
    ].tobytes()
    prior, types = np.linspace(0, 1, len(MODEL.prior)), np.eye(len(SKILLS))[np.arange(len(MODEL.prior)) % len(SKILLS)]
    again = ReplyModel.from_bytes(ReplyModel.to_bytes(prior / prior.sum(), types, forecast), MODEL.policy)
    assert again.prior == pytest.approx(prior / prior.sum()) and (again.types == types).all()
    opening = [Position.from_moves([3], STANDARD)]
    assert (again.gains_at_our_turn(opening) == MODEL.gains_at_our_turn(opening)).all()
    with pytest.raises(ValueError, match="model of replies"):
        ReplyModel.from_bytes(pack({"prior": MODEL.prior}), MODEL.policy)
    with pytest.raises(ValueError, match="shares of kinds"):
        ReplyModel(MODEL.prior[:1], MODEL.types, MODEL.policy, MODEL.forecast)
