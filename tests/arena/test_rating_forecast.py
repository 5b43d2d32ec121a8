"""Ratings by game, the level where they settle, and what of the database they are made from."""

from dataclasses import replace
from math import exp, sqrt

import numpy as np
import pytest

from connectx_toolkit.arena.games.database import GameDatabase
from connectx_toolkit.arena.games.rated_games import by_submission, chosen, public_scores
from connectx_toolkit.arena.reporting.forecast_tables import comparison_line, forecast_lines, games_section
from connectx_toolkit.arena.results.rating_forecast import (
    BETA,
    SETTLED_SIGMA,
    START,
    START_SIGMA,
    TAU,
    Forecast,
    RatedGame,
    drawn_points,
    estimates,
    horizon_after,
    ladder_model,
    rate,
    updated,
)
from tests.arena.test_games import ME, THEM, played

FIRST_WINS, SECOND_WINS = (0, 1, 0, 1, 0, 1, 0), (0, 1, 0, 1, 0, 1, 2, 1)


def games_of(points: list[float], rating: float | None = START) -> list[RatedGame]:
    """Games in both seats in turn, against opponents of one rating."""
    return [RatedGame(one, number % 2, THEM, rating) for number, one in enumerate(points)]


@pytest.mark.parametrize("points", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("against", [300.0, 600.0, 950.0])
def test_library_formulas_and_the_paper_agree(points, against):
    """Weng and Lin's algorithm 1 for two players, in openskill, for many futures at once, and written out here."""
    model = ladder_model()
    after, other = rate(model, model.rating(), model.rating(against, SETTLED_SIGMA), points)
    mu, sigma = updated(
        np.array([START]), np.array([START_SIGMA]), np.array([against]), SETTLED_SIGMA, np.array(points)
    )
    variance, others = START_SIGMA**2 + TAU**2, SETTLED_SIGMA**2 + TAU**2
    c = sqrt(variance + others + 2 * BETA**2)
    expected = 1 / (1 + exp((against - START) / c))
    assert after.mu == pytest.approx(mu[0]) == pytest.approx(START + variance / c * (points - expected))
    assert other.mu == pytest.approx(against - others / c * (points - expected))
    information = variance / c**2 * expected * (1 - expected)
    assert after.sigma == pytest.approx(sigma[0])
    assert after.sigma**2 == pytest.approx(variance * (1 - sqrt(variance) / c * information))


def test_each_game_moves_the_rating_and_makes_it_surer():
    found = estimates(games_of([1, 1, 0, 0.5]))
    assert [one.gained > 0 for one in found] == [True, True, False, False]
    assert START + sum(one.gained for one in found) == pytest.approx(found[-1].rating)
    sigmas = [START_SIGMA, *(one.sigma for one in found)]
    assert sigmas == sorted(sigmas, reverse=True) and sigmas[-1] < sigmas[0]


def test_a_stronger_opponent_is_worth_more():
    weak, strong = (estimates(games_of([1], rating))[0].gained for rating in (400, 800))
    assert 0 < weak < strong


def test_an_unknown_opponent_is_taken_to_be_as_strong():
    found = estimates(games_of([1, 0, 1], None))
    assert [one.opponent_rating for one in found] == pytest.approx([START, found[0].rating, found[1].rating])
    assert "unknown in 3 of 3 games" in " ".join(forecast_lines(ME, Forecast(games_of([1, 0, 1], None))))


def test_more_points_settle_higher_and_more_games_surer():
    poor, good = Forecast(games_of([1, 0, 0, 0] * 5), 200), Forecast(games_of([1, 1, 1, 0] * 5), 200)
    assert poor.interval[0] < poor.level < poor.interval[1]
    assert poor.level < START < good.level
    long = Forecast(games_of([1, 1, 1, 0] * 40), 200)
    assert np.ptp(long.interval) < np.ptp(good.interval)
    assert good.chance_above(poor) > 0.9 and poor.chance_above(good) == pytest.approx(1 - good.chance_above(poor))
    assert comparison_line(["A", "B"], poor, good).startswith("B is likelier to end higher than A: ")


def test_one_s_games_against_the_same_are_even():
    one, other = (Forecast(games_of([1, 0] * 10), 200, seed) for seed in (1, 2))
    assert one.chance_above(other) == pytest.approx(0.5, abs=0.05)
    assert (Forecast(games_of([1, 0] * 10), 200).levels == one.levels).all()


def test_what_the_seat_is_worth_is_told_apart_from_strength():
    """Who wins as first player and loses as second is of middling strength; what was won in one seat only is a win."""
    by_seat = Forecast([RatedGame(float(n % 2 == 0), n % 2, THEM, START) for n in range(40)])
    as_first, as_second = (Forecast([RatedGame(1.0, seat, THEM, START) for _ in range(10)]) for seat in (0, 1))
    assert by_seat.level == pytest.approx(START, abs=30)
    assert as_first.level == pytest.approx(as_second.level, abs=40)
    assert by_seat.chance_above(as_first) < 0.2


def test_the_forecast_is_for_a_game_to_come():
    assert [horizon_after(games) for games in (1, 99, 150, 1000)] == [200, 200, 250, 1100]
    for games, horizon in ((games_of([]), 200), (games_of([1, 1]), 2)):
        with pytest.raises(ValueError, match=f"games, not {len(games)}$"):
            Forecast(games, horizon)


def test_draws_cost_no_points():
    expected = np.full(40_000, 0.7)
    points = drawn_points(expected, 0.3, np.random.default_rng(1))
    assert points.mean() == pytest.approx(0.7, abs=0.01)
    assert (points == 0.5).mean() == pytest.approx(0.3 * 4 * 0.7 * 0.3, abs=0.01)


@pytest.fixture
def database(tmp_path):
    """Submission 11 wins as first and loses as second player, over three days; submission 12 wins once."""
    with GameDatabase(tmp_path / "games.sqlite") as opened:
        replays = []
        for number in range(6):
            names = (ME, THEM) if number % 2 == 0 else (THEM, ME)
            replay = played(FIRST_WINS, names, 100 + number)
            replays.append(replace(replay, date=f"2026-11-0{1 + number // 2}T12:00:00Z"))
        opened.add([*replays, played(FIRST_WINS, (ME, ME), 99)], ME, 11)
        opened.add([played(SECOND_WINS, (THEM, ME), 200)], ME, 12)
        opened.add_ratings({THEM: 700.0}, "2026-11-01")
        yield opened


def test_games_by_submission(database):
    found = by_submission(database.games(me=ME), ME)
    assert {number: len(games) for number, games in found.items()} == {11: 6, 12: 1}
    assert found[11][:2] == [
        RatedGame(1.0, 0, THEM, 700.0, "2026-11-01T12:00:00Z"),
        RatedGame(0.0, 1, THEM, 700.0, "2026-11-01T12:00:00Z"),
    ]
    assert found[12][0][:2] == (1.0, 1)


def test_which_submission(database):
    found = by_submission(database.games(me=ME), ME)
    assert chosen(found, [12, 11], ME) == [12, 11]
    assert chosen({11: found[11]}, [], ME) == [11]
    for several, wanted, words in (
        (found, [], "several submissions: 11 (6 games), 12 (1 games). Choose one"),
        (found, [13], "submission 13 against others; there are 11"),
        ({None: found[12], 11: found[11]}, [], "without a number (1 games)"),
        ({}, [], f"no finished game of {ME} against others"),
    ):
        with pytest.raises(ValueError) as problem:
            chosen(several, wanted, ME)
        assert words in str(problem.value)


def test_kept_scores_lie_beside_the_estimate_of_their_day(database):
    games = by_submission(database.games(me=ME), ME)[11]
    for date, score in (("2026-10-31", 600.0), ("2026-11-02", 650.0), ("2026-12-01", 640.0)):
        database.add_submission_score(11, score, date)
    known = estimates(games)
    found = public_scores(database, 11, games, known)
    assert [(one.score, one.games, one.estimate) for one in found] == [(650.0, 4, known[3]), (640.0, 6, known[5])]


def test_the_table_has_a_row_for_each_game():
    section = games_section(ME, Forecast(games_of([1, 0.5], None)))
    assert [(row[0], *row[2:6]) for row in section.rows] == [
        (1, THEM, "600?", "first", "1"),
        (2, THEM, f"{START + estimates(games_of([1]))[0].gained:.0f}?", "second", "0.5"),
    ]
