"""Games of the database as the forecast of ratings takes them, and how far off its estimates were."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from connectx_toolkit.arena.games.database import Game, GameDatabase
from connectx_toolkit.arena.results.rating_forecast import Estimate, RatedGame


class PublicScore(NamedTuple):
    """A score that Kaggle showed, beside the estimate after the games until that day."""

    date: str
    score: float
    games: int
    estimate: Estimate


def by_submission(games: Iterable[Game], me: str) -> dict[int | None, list[RatedGame]]:
    """A player's games against others that were played to their end, in their order, by the submission's number.

    Those of which the number is not known are under None.
    """
    found: dict[int | None, list[RatedGame]] = defaultdict(list)
    for game in games:
        if game.points is not None and game.names[0] != game.names[1]:
            seat = game.seat_of(me)
            rated = RatedGame(game.points[seat], seat, game.names[1 - seat], game.ratings[1 - seat], game.date)
            found[game.submission].append(rated)
    return dict(found)


def chosen(found: dict[int | None, list[RatedGame]], wanted: Sequence[int], me: str) -> Sequence[int | None]:
    """The submissions that were asked for, or else the only one.

    Raises:
        ValueError: there is none, or it is not clear which; in words that say how to choose.
    """
    if not found:
        raise ValueError(f"no finished game of {me} against others")
    known = [f"{number or 'without a number'} ({len(games)} games)" for number, games in sorted(found.items(), key=str)]
    missing = [number for number in wanted if number not in found]
    if missing:
        raise ValueError(f"no finished game of submission {missing[0]} against others; there are {', '.join(known)}")
    if not wanted and len(found) > 1:
        raise ValueError(f"games of several submissions: {', '.join(known)}. Choose one with --submission N")
    return wanted or list(found)


def public_scores(
    database: GameDatabase, submission: int, games: Sequence[RatedGame], estimates: Sequence[Estimate]
) -> list[PublicScore]:
    """The public scores of a submission that were kept, each beside the estimate after the last game until that day.

    Games of unknown date count with the ones around them.
    """
    found = []
    for date, score in database.submission_scores(submission):
        until = [number for number, game in enumerate(games, 1) if game.date and game.date[:10] <= date[:10]]
        played = max(until, default=0)
        if played:
            found.append(PublicScore(date, score, played, estimates[played - 1]))
    return found
