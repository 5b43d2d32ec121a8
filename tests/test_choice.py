"""The choice among moves of equal result, on positions small enough for plain minimax."""

import random

import pytest

from connectx import choice
from connectx.choice import Gifts, choose, later_gift, plies_to_end, reply_probabilities, sign
from connectx.clock import Budget
from connectx.geometry import Geometry, geometry_of
from connectx.position import Position
from tests.conftest import random_game

SMALL = geometry_of(4, 4, 3)
DRAWISH = geometry_of(4, 4, 4)


class Exact:
    """Exact scores by minimax, remembered."""

    def __init__(self) -> None:
        self.known: dict[Position, tuple[int, int]] = {}

    def value(self, position: Position) -> tuple[int, int]:
        """(score, plies that perfect play lasts)."""
        if position.is_lost():
            return -((position.geometry.cells + 2 - position.ply) // 2), 0
        if position.is_full():
            return 0, 0
        if position not in self.known:
            replies = [self.value(position.play(column)) for column in position.legal_columns()]
            score = max(-score for score, _ in replies)
            lengths = [1 + plies for value, plies in replies if -value == score]
            self.known[position] = score, max(lengths)
        return self.known[position]

    def scores(self, position: Position) -> list[int | None]:
        legal = position.legal_columns()
        return [-self.value(position.play(c))[0] if c in legal else None for c in range(position.geometry.columns)]


def positions(geometry: Geometry, games: int) -> list[Position]:
    rng = random.Random(6)
    return [p for _ in range(games) for p in random_game(geometry, rng) if p.ply > 1]


@pytest.mark.parametrize("geometry", [SMALL, DRAWISH, geometry_of(3, 5, 3)], ids=str)
def test_length_follows_from_the_score(geometry):
    exact = Exact()
    for position in positions(geometry, 40):
        score, plies = exact.value(position)
        assert plies_to_end(score, position.ply, geometry.cells) == plies


@pytest.mark.parametrize("geometry", [SMALL, DRAWISH], ids=str)
def test_the_result_is_kept(geometry):
    """And a won game is won at once or as quickly as it can be."""
    exact = Exact()
    results = set()
    for position in positions(geometry, 60):
        scores = exact.scores(position)
        column = choose(position, scores, exact.scores, most_replies=2)
        legal = [score for score in scores if score is not None]
        results.add(sign(max(legal)))
        assert sign(scores[column] or 0) == sign(max(legal))
        if max(legal) > 0:
            assert scores[column] == max(legal)
        without = choose(position, scores, lambda child: None)
        assert scores[without] == max(legal)  # nothing known of the replies: the slowest loss
    assert results == ({-1, 0, 1} if geometry == DRAWISH else {-1, 1} | results)


def test_probabilities():
    """They sum to 1; a win in one is taken by all, a reply that loses at once only by those who see one ply."""
    exact = Exact()
    for position in positions(SMALL, 40):
        scores = exact.scores(position)
        chances = reply_probabilities(position, scores)
        assert sum(chances.values()) == pytest.approx(1)
        wins = position.winning_columns()
        if wins:
            assert sum(chances[column] for column in wins) == pytest.approx(1)


def test_gifts_are_expected_from_hidden_losses_only(monkeypatch):
    """Nothing to give away now, nothing expected but the rate of the replies to come; never more than a whole point."""
    exact = Exact()
    for position in positions(DRAWISH, 60):
        scores = exact.scores(position)
        gift = Gifts(exact.scores).expected(position, 1)
        assert 0 <= gift <= 1
        if len({sign(score) for score in scores if score is not None}) == 1:
            assert gift <= later_gift(exact.value(position)[1] // 2) + 1e-9
            monkeypatch.setattr(choice, "GIFT_RATE", 0.0)
            assert Gifts(exact.scores).expected(position, 1) == 0
            monkeypatch.undo()


def test_looking_further_finds_later_traps(monkeypatch):
    """A gift that only the opponent's second reply can give is seen with two replies, and not with one."""
    monkeypatch.setattr(choice, "GIFT_RATE", 0.0)
    exact, later = Exact(), 0
    gifts = Gifts(exact.scores)
    for position in positions(DRAWISH, 120):
        near, far = (gifts.expected(position, replies) for replies in (1, 2))
        assert near <= far + 1e-9 and far <= 1
        later += near == 0 < far
    assert later > 10


def test_traps_are_preferred():
    """Of two drawing moves the one is chosen after which more replies lose."""
    exact, better = Exact(), 0
    expected = Gifts(exact.scores).expected
    for position in positions(DRAWISH, 200):
        scores = exact.scores(position)
        legal = [score for score in scores if score is not None]
        if max(legal) != 0 or legal.count(0) < 2:
            continue
        children = {c: position.play(c) for c, score in enumerate(scores) if score == 0}
        gifts = {c: 0 if k.is_over() else expected(k, 1) for c, k in children.items()}
        chosen = choose(position, scores, exact.scores, most_replies=1)
        assert gifts[chosen] == pytest.approx(max(gifts.values()))
        better += max(gifts.values()) > min(gifts.values())
    assert better > 10


def test_no_time_no_candidates():
    """A budget that has run out leaves the plain choice."""
    position = Position.from_moves([0, 0, 1], DRAWISH)

    def replies(child: Position):
        raise AssertionError("there was no time for this")

    column = choose(position, Exact().scores(position), replies, Budget.seconds(-1))
    assert column in position.legal_columns()
