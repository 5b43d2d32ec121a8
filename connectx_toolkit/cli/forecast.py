"""``evaluate.py forecast``: a submission's rating by game, the level where it settles, and which of two ends higher."""

import argparse
from collections.abc import Sequence

from connectx_toolkit.arena.games.database import GameDatabase
from connectx_toolkit.arena.games.rated_games import by_submission, chosen, public_scores
from connectx_toolkit.arena.games.sources import own_name
from connectx_toolkit.arena.reporting.forecast_tables import (
    comparison_line,
    forecast_lines,
    games_section,
    scores_section,
)
from connectx_toolkit.arena.reporting.replay_tables import section_table
from connectx_toolkit.arena.results.rating_forecast import ASSUMPTIONS, Forecast, horizon_after
from connectx_toolkit.cli.analyse import print_lines
from connectx_toolkit.cli.explore import opened
from connectx_toolkit.console.tables import console_for_tables
from connectx_toolkit.foreign import NothingLeft, left_out_lines


def forecast(options: argparse.Namespace) -> None:
    """The rating of one submission, or of two beside each other."""
    wanted: Sequence[int] = options.submission
    if len(set(wanted)) < len(wanted) or len(wanted) > 2:
        raise ValueError(f"--submission: expected one number or two different ones, not {' '.join(map(str, wanted))}")
    console, lines = console_for_tables(), list[str]()
    with opened(options) as database:
        me = own_name(database, options.me)
        found = by_submission(database.games(me=me), me)
        if not found and database.left_out:
            raise NothingLeft(database.left_out)
        numbers = chosen(found, wanted, me)
        horizon = horizon_after(max(len(found[number]) for number in numbers))
        forecasts = {_title(number, me): Forecast(found[number], horizon, number or 0) for number in numbers}
        for number, (title, made) in zip(numbers, forecasts.items(), strict=True):
            console.print(section_table(games_section(title, made)))
            scores = [] if number is None else public_scores(database, number, made.games, made.estimates)
            if scores:
                console.print(section_table(scores_section(title, scores)))
            lines += forecast_lines(title, made)
    if len(forecasts) == 2:
        one, other = forecasts.values()
        lines.append(comparison_line([*forecasts], one, other))
    lines += ["Assumptions:", *(f"- {line}" for line in ASSUMPTIONS), *left_out_lines(database.left_out)]
    print_lines(console, lines)


def _title(number: int | None, me: str) -> str:
    return me if number is None else f"submission {number}"


def summary_lines(database: GameDatabase, me: str, submission: int) -> list[str]:
    """The forecast of a submission in a few sentences; [] if it has no finished game against others."""
    games = by_submission(database.games(me=me), me).get(submission)
    if not games:
        return []
    made = Forecast(games, horizon_after(len(games)), submission)
    return forecast_lines(f"submission {submission}", made)
