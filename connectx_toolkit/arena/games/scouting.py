"""A scout's report: all that is told of one opponent, and the table of all of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from connectx.exact import has_openings
from connectx.geometry import Geometry
from connectx.position import Position
from connectx_toolkit.arena.analysis.exact_analysis import exact_scores
from connectx_toolkit.arena.games.scout import (
    Branch,
    Given,
    Line,
    Repeats,
    Scores,
    Tally,
    answers_of,
    best_line,
    faults_of,
    first_given,
    median_seconds,
    most_overage,
    repeats,
    tally,
    tree,
)
from connectx_toolkit.arena.results.records import Game

TREE_PLIES = 8


@dataclass(frozen=True)
class Report:
    """What the games against one opponent tell. What is by seat goes by one's own, the first player's first."""

    opponent: str
    me: str
    games: list[Game]  # against it, on one board
    geometry: Geometry
    left_out: int  # games on other boards
    tallies: tuple[Tally, Tally]
    repeats: Repeats
    trees: tuple[list[Branch], list[Branch]]
    lines: tuple[Line, Line]
    given: list[Given]
    faults: Counter[str]
    seconds: float | None  # median of its moves, where most of them are known
    overage: float | None  # most that it used in a game, in seconds, where that is known
    scores: Scores
    unsolved: int  # positions


@dataclass(frozen=True)
class Row:
    """One opponent of the table."""

    name: str
    tallies: tuple[Tally, Tally]  # by one's own seat
    repeats: Repeats
    faults: int
    overage: float | None  # most that it used in a game, in seconds, where that is known
    rating: float | None  # the latest that is known

    @property
    def whole(self) -> Tally:
        first, second = self.tallies
        return Tally(first.games + second.games, first.points + second.points, first.counted + second.counted)


def against(games: Iterable[Game], me: str) -> tuple[dict[str, list[Game]], int]:
    """The games of "me" by opponent, and how many were left out: those that it played against itself."""
    found: dict[str, list[Game]] = {}
    itself = 0
    for game in games:
        if game.is_self_play:
            itself += 1
        else:
            found.setdefault(game.names[1 - game.names.index(me)], []).append(game)
    return found, itself


def table(by_opponent: Mapping[str, Sequence[Game]], me: str) -> list[Row]:
    """All opponents, those first that cost the most points."""
    rows = []
    for name, games in by_opponent.items():
        ratings = [game.ratings[game.names.index(name)] for game in games]
        known = [rating for rating in ratings if rating is not None]
        rows.append(
            Row(
                name,
                _tallies(games, me),
                repeats(answers_of(games, name)),
                faults_of(games, name).total(),
                most_overage(games, name),
                known[-1] if known else None,
            )
        )
    return sorted(rows, key=lambda row: (-row.whole.lost, -row.whole.games, row.name))


def _tallies(games: Sequence[Game], me: str) -> tuple[Tally, Tally]:
    first, second = ([game for game in games if game.names[seat] == me] for seat in (0, 1))
    return tally(first, me), tally(second, me)


def scout(
    games: Sequence[Game], me: str, opponent: str, seconds: float, update: Callable[[], object] = lambda: None
) -> Report:
    """All that games between two players tell of the opponent.

    Args:
        games: at least one; of several boards, that of most games counts.
        seconds: limit for the exact scores.
        update: called after each position.
    """
    geometry = Counter(game.geometry for game in games).most_common(1)[0][0]
    here = [game for game in games if game.geometry == geometry]
    wanted = to_solve(here)
    scores = exact_scores(wanted, geometry, seconds, update) if geometry.fits_word else {}
    answers = answers_of(here, opponent)
    return Report(
        opponent,
        me,
        here,
        geometry,
        len(games) - len(here),
        _tallies(here, me),
        repeats(answers),
        (tree(here, me, 0, TREE_PLIES), tree(here, me, 1, TREE_PLIES)),
        (best_line(answers, scores, 0, geometry), best_line(answers, scores, 1, geometry)),
        first_given(here, opponent, scores),
        faults_of(here, opponent),
        median_seconds(here, opponent),
        most_overage(here, opponent),
        scores,
        len(wanted) - len(scores),
    )


def to_solve(games: Iterable[Game]) -> list[Position]:
    """The positions of games in which a player was to choose; the last are solved first.

    Those are the ones met most often, or without the opening table the latest, which alone are solved soon.
    """
    met = Counter(position for game in games for position in game.positions().values())

    def order(position: Position) -> tuple[int, int, int]:
        return met[position] if has_openings(position.geometry) else 0, position.ply, position.key

    return sorted(met, key=order)
