"""Games seen from one's own seat: how each ended and why, and what was given away in it; where points were lost."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from connectx_core.exact import has_openings
from connectx_core.position import Geometry, Position, plies_to_end, write_columns
from connectx_toolkit.games.analysis import GAME_SECONDS, JudgedMove, judge, judge_all, mistakes, solvers_for
from connectx_toolkit.games.game import SEATS, Game
from connectx_toolkit.games.owner import seat_of
from connectx_toolkit.system.console import plural, progress
from connectx_toolkit.system.table import Table

__all__ = ["Review"]

LONG_BEFORE = 8  # plies: one position of fewer stones can take the solver longer than anyone waits without a word
POINTS_WORDS = {1.0: "won", 0.5: "drawn", 0.0: "lost", None: "unfinished"}
REACH = ((4, "1 to 4"), (10, "5 to 10"), (20, "11 to 20"), (10**9, "more than 20"))  # plies
BAND = 8  # plies
MOST_REPEATED = 8  # rows
GIVEN_AWAY = "given away: the result of perfect play before your last mistake"
SHORT_OF_TIME = 10.0  # seconds of overage time left
Row = Sequence[str | int | float]


@dataclass(frozen=True)
class Review:
    """A game with its judged moves; "one's own" are those of a seat, or of both if none is given.

    Attributes:
        moves: those that could be solved in time.
        seat: one's own.
        theme: of an exam's mistake, which is the only judged move of its game.
    """

    game: Game
    moves: list[JudgedMove]
    seat: int | None = None
    theme: str = ""

    @property
    def own_seat(self) -> int:
        """One's own; that of the first player if none is given."""
        return self.seat or 0

    @property
    def player(self) -> str:
        """Whose seat it is."""
        return self.game.names[self.own_seat]

    @property
    def opponent(self) -> str:
        return "itself" if self.game.is_self_play else self.game.names[1 - (self.own_seat)]

    @property
    def score(self) -> float | None:
        return None if self.game.points is None else self.game.points[self.own_seat]

    @property
    def fault(self) -> str:
        """ "timeout", "illegal move" or "error", of whoever lost by one; "" if nobody did."""
        return self.game.fault.family if self.game.fault else ""

    @property
    def own(self) -> list[JudgedMove]:
        return [move for move in self.moves if self.seat in (None, move.seat)]

    @property
    def mistakes(self) -> list[JudgedMove]:
        """The moves that gave a result away, one's own."""
        return mistakes(self.own)

    @property
    def shortened(self) -> list[JudgedMove]:
        """One's own moves that lost a lost game sooner."""
        return [move for move in self.own if move.shortens_loss]

    @property
    def cause(self) -> str:
        """Why the game was not won: one's own fault, or what was given away last; "" of a game that was won."""
        if self.score in (1.0, None):
            return ""
        if self.fault:
            return self.fault
        if given := self.mistakes:
            return f"{given[-1].results[0]} position given away"
        if not self.own:
            return "not judged"
        return f"{POINTS_WORDS[self.score]} {'by the opening' if self.game.opening else 'from the start'}"

    def row(self) -> dict[str, Any]:
        """The game for machines, and for the page; times in seconds, columns from 0."""
        game, given, seat = self.game, self.mistakes, self.own_seat
        slowest = game.slowest(seat)
        return {
            "game": game.name,
            "file": game.source,
            "opponent": self.opponent,
            "seat": SEATS[seat],
            "result": POINTS_WORDS[self.score],
            "status": self.fault or "played",
            "ending": game.ending_words,
            "cause": self.cause,
            "plies": len(game.moves),
            "opening": game.opening,
            "overage": None if (used := game.overage_used(seat)) is None else round(used, 3),
            "slowest": slowest and {"ply": slowest[0], "seconds": round(slowest[1], 3)},
            "mistakes": [
                {"ply": one.ply, "column": one.column, "best": one.best_columns, "before": before, "after": after}
                for one in given
                for before, after in [one.results]
            ],
            "shortened": [{"ply": one.ply, "column": one.column, "best": one.best_columns} for one in self.shortened],
            "moves": list(game.moves),
        }


def review_game(game: Game, seconds: float = GAME_SECONDS) -> Review:
    """A game with the moves that could be solved in time; shows how far it is if that takes long."""
    if not game.geometry.fits_word:
        return Review(game, [])
    with solvers_for(game.geometry):  # compiles before there is a bar
        pass
    count = len(game.positions(game.opening))
    may_be_long = count and game.opening < LONG_BEFORE and not has_openings(game.geometry)
    with progress(count, "move", delay=0 if may_be_long else 2) as bar:
        return Review(game, judge(game, seconds, bar.update))


def review_own_games(
    games: Sequence[Game], me: str, seconds: float = GAME_SECONDS, is_whole: bool = False
) -> list[Review]:
    """One's own games, judged as ``judge_all`` does; shows how far it is."""
    reviews = list[Review]()
    with progress(len(games), "game", "judging", delay=0) as bar:
        for game, moves in zip(games, judge_all(games, seconds, is_whole), strict=True):
            reviews.append(Review(game, moves, seat_of(game, me)))
            bar.update()
    return reviews


def moves_by_agent(reviews: Iterable[Review]) -> dict[str, list[JudgedMove]]:
    """The judged moves of games, by who made them."""
    found: dict[str, list[JudgedMove]] = {}
    for one in reviews:
        for move in one.moves:
            found.setdefault(one.game.names[move.seat], []).append(move)
    return found


def headline(team: str, reviews: Sequence[Review]) -> list[str]:
    """The games in a few sentences: what was scored, by what it was lost, and where to look first."""
    counted = _games_that_count(reviews)
    if not counted:
        return [f"{team}: no game that counts, of {len(reviews)}"]
    tally = Counter(POINTS_WORDS[review.score] for review in counted)
    points = sum(review.score or 0 for review in counted)
    share = 100 * points / len(counted)
    results = f"won {tally['won']}, drawn {tally['drawn']}, lost {tally['lost']}"
    lines = [f"{team}: {len(counted)} games, {results}: {points:g} points ({share:.0f}%)."]
    if causes := _causes(counted):
        lines.append(f"Points lost: {', '.join(f'{cause} {lost:g}' for cause, _, lost, _ in causes)}.")
    if deciding := _deciding(counted):
        start, count = Counter(move.ply // BAND * BAND for _, move in deciding).most_common(1)[0]
        # To the end of the loss that a mistake leads to, or of the missed win.
        ahead = [_plies(review, one, one.played if one.played < 0 else one.value) for review, one in deciding]
        near, far = sum(plies <= REACH[0][0] for plies in ahead), sum(plies > REACH[-2][0] for plies in ahead)
        lines.append(
            f"Your last mistake in each game that you did not win: {len(deciding)} in all. "
            f"The plies with most of them are {_band(start, counted)}: {count}. "
            f"A search {REACH[0][0]} plies deep finds {near} of these mistakes, one {REACH[-2][0]} plies deep "
            f"{len(ahead) - far}."
        )
    if again := _again(counted):
        review, move = again[0][0]
        after = write_columns(review.game.moves[: move.ply]) or "the start"
        best = " or ".join(map(str, move.best_columns))
        lines.append(f"Made most often: column {move.column} after {after}, in {len(again[0])} games; best is {best}.")
    if shortened := [(review, move) for review in counted for move in review.shortened]:
        review, move = min(shortened, key=lambda one: one[1].played - one[1].value)  # that costs most plies
        sooner, later = (_plies(review, move, score) for score in (move.played, move.value))
        games = len({id(one) for one, _ in shortened})
        lines.append(
            f"In lost positions, {len(shortened)} {plural('move', len(shortened))} in {games} {plural('game', games)} "
            f"lost sooner than necessary. The worst: {review.game.name}, ply {move.ply}: column {move.column} loses in "
            f"{sooner} plies, the best ({move.best()}) in {later}."
        )
    missed, allowed = (sum(len(oversights(review)[kind]) for review in counted) for kind in (0, 1))
    if missed or allowed:
        lines.append(f"Wins in one overlooked: your own {missed}, the opponent's {allowed}.")
    return lines


def _band(start: int, reviews: Sequence[Review]) -> str:
    """ "32 to 39"; the last one ends with the board."""
    return f"{start} to {min(start + BAND, max(one.game.geometry.cells for one in reviews)) - 1}"


def _deciding(reviews: Sequence[Review]) -> list[tuple[Review, JudgedMove]]:
    """The last mistake of each game that was not won, but for those lost by a fault."""
    return [(one, one.mistakes[-1]) for one in reviews if one.cause and one.mistakes and not one.fault]


def _games_that_count(reviews: Sequence[Review]) -> list[Review]:
    """The games that give points: those that were ended, against others."""
    return [review for review in reviews if review.score is not None and not review.game.is_self_play]


def summary(reviews: Sequence[Review]) -> list[Table]:
    """Where points were lost, by cause, seat and ply; mistakes that come again; and what time was used."""
    counted = _games_that_count(reviews)
    sections = [
        Table("Why points were lost", ("why", "games", "points lost", "for example"), _causes(counted), GIVEN_AWAY),
        _seats_table(counted),
        _plies_table(counted),
        _repeats_table(counted),
        _times_table(reviews),
    ]
    return [section for section in sections if section.rows]


def _points_lost(reviews: Sequence[Review]) -> float:
    return sum(1.0 - (review.score or 0.0) for review in reviews)


def _causes(reviews: Sequence[Review]) -> list[tuple[str, int, float, str]]:
    """Cause, games, points lost and the first games, the dearest cause first."""
    by_cause: dict[str, list[Review]] = {}
    for review in reviews:
        if review.cause:
            by_cause.setdefault(review.cause, []).append(review)
    causes = []
    for cause, games in by_cause.items():
        lost = _points_lost(games)
        causes.append((cause, len(games), lost, " ".join(review.game.name for review in games[:4])))
    return sorted(causes, key=lambda item: -item[2])


def _seats_table(reviews: Sequence[Review]) -> Table:
    rows: list[Row] = []
    for seat, name in enumerate(SEATS):
        if scores := [review.score or 0 for review in reviews if review.seat == seat]:
            rows.append((name, len(scores), *map(scores.count, (1, 0.5, 0)), 100 * sum(scores) / len(scores)))
    return Table("Points by seat", ("moving", "games", "won", "drawn", "lost", "points %"), rows)


def _plies_table(reviews: Sequence[Review]) -> Table:
    own = [move for review in reviews for move in review.own if move.holds]
    deciding = [move.ply // BAND * BAND for _, move in _deciding(reviews)]
    rows: list[Row] = []
    for start in sorted({move.ply // BAND * BAND for move in own}):
        here = [move for move in own if move.ply // BAND * BAND == start]
        given = [len([m for m in mistakes(here) if m.results[0] == before]) for before in ("won", "drawn")]
        share = 100 * sum(given) / len(here)
        rows.append((_band(start, reviews), len(here), *given, share, deciding.count(start)))
    heads = ("plies", "moves", "wins given away", "draws given away", "given away %", "deciding")
    note = "moves: yours in positions not lost yet; deciding: your last mistake in a game not won"
    return Table("Mistakes by ply", heads, rows, note)


def _plies(review: Review, move: JudgedMove, score: int) -> int:
    """Plies from a move to the end of a game of this score."""
    return plies_to_end(score, move.ply, review.game.geometry.cells)


def oversights(review: Review) -> tuple[list[int], list[int]]:
    """Plies of one's own moves that left a win in one untaken, and of those that needlessly gave the opponent one."""
    worse = [move for move in review.own if not move.is_perfect]
    missed = [one.ply for one in worse if one.value > 0 and _plies(review, one, one.value) == 1]
    allowed = [one.ply for one in worse if one.played < 0 and _plies(review, one, one.played) == 2]
    return missed, allowed


def _again(reviews: Sequence[Review]) -> list[list[tuple[Review, JudgedMove]]]:
    """One's mistakes that were made more than once, mirrored or not, the most frequent first."""
    by_position: dict[tuple[Geometry, int, int], list[tuple[Review, JudgedMove]]] = {}
    for review in reviews:
        game = review.game
        for move in review.mistakes:
            before = Position.from_moves(game.moves[: move.ply], game.geometry)
            mirrored = game.geometry.columns - 1 - move.column
            key, column = min((before.key, move.column), (before.mirror().key, mirrored))
            by_position.setdefault((game.geometry, key, column), []).append((review, move))
    return sorted((made for made in by_position.values() if len(made) > 1), key=len, reverse=True)


def _repeats_table(reviews: Sequence[Review]) -> Table:
    rows: list[Row] = []
    for made in _again(reviews)[:MOST_REPEATED]:
        review, move = made[0]
        lost = _points_lost([one for one, _ in made])
        after, best = write_columns(review.game.moves[: move.ply]), " ".join(map(str, move.best_columns))
        rows.append((after or "the start", str(move.column), best, len(made), lost, review.game.name))
    heads = ("after", "you play", "best", "games", "points lost", "for example")
    return Table("Mistakes that come again", heads, rows, "the same position or its mirror image, as in the example")


def _times_table(reviews: Sequence[Review]) -> Table:
    rows: list[Row] = []
    if not reviews:
        return Table("Time", (), rows)
    used = [(seconds, one) for one in reviews if (seconds := one.game.overage_used(one.own_seat)) is not None]
    most, review = max(used, key=lambda item: item[0], default=(0.0, reviews[0]))
    if most > 0:
        rows.append(("most overage time of a game, s", most, review.game.name))
    slow = [(slowest, review) for review in reviews if (slowest := review.game.slowest(review.own_seat))]
    if slow:
        (ply, time), review = max(slow, key=lambda item: item[0][1])
        rows.append(("slowest move, s", time, f"{review.game.name}, ply {ply}"))
    short = [one.game.name for _, one in used if (one.game.overage_left(one.own_seat) or 0.0) < SHORT_OF_TIME]
    if used:
        rows.append((f"games with less than {SHORT_OF_TIME:g} s left", len(short), " ".join(short[:4])))
    late = [r for r in reviews if r.fault == "timeout" and r.score == 0]
    rows.append(("games lost by timeout", len(late), " ".join(r.game.name for r in late[:4])))
    return Table("Time", ("what", "value", "where"), rows)
