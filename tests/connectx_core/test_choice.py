"""The choice among moves of equal result, on positions small enough for plain minimax."""

import random

import pytest

from agents import perfect
from connectx_core import opponent
from connectx_core.books import openings
from connectx_core.opponent import (
    MOST_REPLIES,
    ErrorForecast,
    ReplyModel,
    best_columns,
    candidates,
    columns_of_scores,
    expected_gains,
    lasting_columns,
)
from connectx_core.position import STANDARD, Geometry, Position, geometry_of, plies_to_end, plies_to_end_table, sign
from tests.conftest import random_game

pytestmark = pytest.mark.slow
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
        assert plies_to_end_table(geometry.cells)[position.ply, score + geometry.cells] == plies


@pytest.fixture(scope="module")
def model() -> ReplyModel:
    """The toolkit's own; on the small boards here, its networks do not serve."""
    return perfect.opponent.model


def forecast_of(model: ReplyModel, exact: Exact, most: int = 40) -> ErrorForecast:
    """A tree in which so many positions can be examined: then the time is over."""
    answers = 0

    def replies(position: Position) -> list[int | None] | None:
        nonlocal answers
        answers += 1
        return exact.scores(position) if answers <= most else None

    return ErrorForecast(model, model.prior, replies)


@pytest.mark.parametrize("geometry", [SMALL, DRAWISH], ids=str)
def test_the_result_is_kept(geometry, model):
    """And a won game is won at once or as quickly as it can be."""
    exact = Exact()
    results = set()
    for position in positions(geometry, 15):
        scores = exact.scores(position)
        column = best_columns(position, scores, forecast_of(model, exact))[0]
        legal = [score for score in scores if score is not None]
        results.add(sign(max(legal)))
        assert sign(scores[column] or 0) == sign(max(legal))
        if max(legal) > 0:
            assert scores[column] == max(legal)
        assert scores[best_columns(position, scores)[0]] == max(legal)  # without expectations: the slowest loss
    assert results == ({-1, 0, 1} if geometry == DRAWISH else {-1, 1} | results)


def plain_expectation(position: Position, replies: int, model: ReplyModel, exact: Exact) -> float:
    """What the opponent, to move, gives away in so many replies, and by the estimates after them: expectimax."""
    if position.is_over():
        return 0.0
    scores = exact.scores(position)
    chances = model.prior @ model.chances([position], columns_of_scores([scores]))[0]
    best, total = max(score for score in scores if score is not None), 0.0
    for column, score in enumerate(scores):
        if score is None:
            continue
        child, later = position.play(column), 0.0
        if score >= 0 and not child.is_over():
            result = -sign(score)
            ours = exact.scores(child)
            kept = [c for c, s in enumerate(ours) if s is not None and sign(s) == result]
            after = [child.play(c) for c in lasting_columns(child, kept)]
            if replies > 1:
                later = max(plain_expectation(p, replies - 1, model, exact) for p in after)
            else:
                later = float(model.gains_at_our_turn([child])[0] @ model.prior)
        total += chances[column] * ((sign(best) - sign(score)) / 2 + later)
    return total


@pytest.mark.parametrize("replies", [1, 2])
def test_expectations_are_those_of_plain_expectimax(replies, model, monkeypatch):
    """With every move tried and every reply followed."""
    monkeypatch.setattr(opponent, "BEAM", DRAWISH.columns)
    monkeypatch.setattr(opponent, "LEAST_SHARE", 0.0)
    exact, compared = Exact(), 0
    for position in positions(DRAWISH, 8):
        columns = candidates(position, exact.scores(position))
        if position.ply < 6 or exact.value(position)[0] > 0 or position.play(columns[0]).is_full():
            continue
        found = expected_gains(position, columns, forecast_of(model, exact, 9999), replies)
        for column in columns:
            assert found[column] == pytest.approx(plain_expectation(position.play(column), replies, model, exact))
            compared += 1
    assert compared > 20


def test_traps_are_preferred(model, monkeypatch):
    """Of two drawing moves the one is chosen after which more replies lose."""
    monkeypatch.setattr(opponent, "UNKNOWN_GAIN", 0.0)
    exact, better = Exact(), 0
    for position in positions(DRAWISH, 25):
        scores = exact.scores(position)
        legal = [score for score in scores if score is not None]
        if max(legal) != 0 or legal.count(0) < 2 or position.ply > 13:
            continue
        gains = expected_gains(position, candidates(position, scores), forecast_of(model, exact), MOST_REPLIES)
        assert gains[best_columns(position, scores, forecast_of(model, exact))[0]] == pytest.approx(max(gains.values()))
        better += max(gains.values()) > min(gains.values())
    assert better > 5


def test_late_losses_only():
    """Where a loss can be put off to the last six plies, no earlier one is a candidate; elsewhere all are."""
    after_first = Position.from_moves([3], STANDARD)
    scores = openings().scores(after_first)
    assert scores == [-4, -2, -2, -1, -2, -2, -4]
    assert sorted(candidates(after_first, scores)) == [1, 2, 3, 4, 5]
    assert sorted(candidates(after_first, [-4, -5, -6, -7, -4, -5, -9])) == list(range(7))
    assert sorted(candidates(after_first, [-1, 0, -3, 0, None, -9, 0])) == [1, 3, 6]


def test_without_time_the_estimates_decide(model):
    """No position is examined where no score can be had, and the move keeps the result all the same."""
    exact = Exact()
    for position in positions(DRAWISH, 20):
        scores = exact.scores(position)
        column = best_columns(position, scores, ErrorForecast(model, model.prior, lambda later: None))[0]
        assert sign(scores[column] or 0) == sign(max(score for score in scores if score is not None))


def test_what_the_table_knows_is_not_searched(model):
    """A first stone in column 2 draws (Allis 1988); the table tells which replies keep the draw: no solver is asked."""
    position = Position.from_moves([2], STANDARD)
    scores = openings().scores(position)
    forecast = ErrorForecast(model, model.prior, lambda later: pytest.fail("searched"), openings().scores)
    found = forecast.moves(opponent.OurTurn(position, 0, 0.0))
    assert scores and found == [position.play(column) for column in candidates(position, scores)]


def test_the_likeliest_positions_are_examined_first(model):
    """So that, when the time is over, what is left is what hardly ever happens."""
    exact, asked = Exact(), list[Position]()

    def replies(later: Position) -> list[int | None]:
        asked.append(later)
        return exact.scores(later)

    forecast = ErrorForecast(model, model.prior, replies)
    position = next(p for p in positions(DRAWISH, 8) if p.ply == 6 and exact.value(p)[0] == 0)
    level = dict.fromkeys(forecast.after([position.play(c) for c in candidates(position, exact.scores(position))]), 1.0)
    assert forecast.expand(list(level))
    reach = {reply.position: share for reply, share in forecast.next_level(level).items()}
    asked.clear()
    forecast.grow(level, 2)
    shares = [reach[later] for later in asked if later in reach]
    assert shares == sorted(shares, reverse=True) and len(set(shares)) > 2
