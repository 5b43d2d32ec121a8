"""The forecast of a submission's rating in words and tables."""

from collections.abc import Sequence

from connectx_toolkit.arena.games.rated_games import PublicScore
from connectx_toolkit.arena.replays.review import SEATS
from connectx_toolkit.arena.replays.summary import Section
from connectx_toolkit.arena.results.rating_forecast import Forecast


def games_section(title: str, forecast: Forecast) -> Section:
    """The estimated rating after each game, and what the game was worth."""
    heads = ("game", "date", "opponent", "its rating", "moving", "points", "rating", "\N{PLUS-MINUS SIGN}", "worth")
    rows = []
    for number, (game, after) in enumerate(zip(forecast.games, forecast.estimates, strict=True), 1):
        score = f"{after.opponent_rating:.0f}{'?' if game.opponent_rating is None else ''}"
        spread, worth = f"{after.sigma:.0f}", f"{after.gained:+.0f}"
        rows.append((number, game.date[:10], game.opponent, score, SEATS[game.seat], f"{game.points:g}",
                     f"{after.rating:.0f}", spread, worth))  # fmt: skip
    note = "rating: estimated, after the game, with its standard deviation; ?: not known, taken to be yours"
    return Section(f"estimated rating of {title}", heads, rows, note)


def scores_section(title: str, scores: Sequence[PublicScore]) -> Section:
    """How far off the estimates were, where Kaggle's public score was kept."""
    errors = [one.estimate.rating - one.score for one in scores]
    rows = [
        (one.date[:10], one.games, f"{one.score:.1f}", f"{one.estimate.rating:.1f}", f"{error:+.1f}")
        for one, error in zip(scores, errors, strict=True)
    ]
    mean = sum(map(abs, errors)) / len(errors) if errors else 0.0
    heads = ("date", "games", "public score", "estimate", "error")
    return Section(f"estimates of {title} against Kaggle's public scores", heads, rows, f"mean error {mean:.1f}")


def forecast_lines(title: str, forecast: Forecast) -> list[str]:
    """The estimate and the forecast in a few sentences."""
    games, now, (low, high) = forecast.games, forecast.now, forecast.interval
    seats = [[game.points for game in games if game.seat == seat] for seat in (0, 1)]
    by_seat = ", ".join(
        f"{sum(points):g} of {len(points)} moving {SEATS[seat]}" for seat, points in enumerate(seats) if points
    )
    lines = [
        f"{title}: {len(games)} {'game' if len(games) == 1 else 'games'}, {by_seat}.",
        f"Estimated rating: {now.rating:.0f}, with a standard deviation of {now.sigma:.0f}.",
        f"After game {forecast.horizon}: {forecast.level:.0f}, between {low:.0f} and {high:.0f} (at least 90%).",
    ]
    unknown = sum(game.opponent_rating is None for game in games)
    if unknown:
        lines.append(f"Opponents' ratings are unknown in {unknown} of {len(games)} games: each is taken to be yours.")
    return lines


def comparison_line(titles: Sequence[str], one: Forecast, other: Forecast) -> str:
    """Which of two submissions is likelier to end higher."""
    chance = one.chance_above(other)
    (above, below), share = (titles, chance) if chance >= 0.5 else (titles[::-1], 1 - chance)
    return f"{above} is likelier to end higher than {below}: {100 * share:.0f}%."
