"""What the games tell of opponents: does one repeat itself, what does it answer, and which line of play beats it.

Positions count as they were on the board, mirror images apart: an agent need not answer them alike.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from connectx.exact import has_openings
from connectx.position import Columns, Geometry, Position, sign
from connectx_toolkit.games.analysis import JudgedMove, exact_scores
from connectx_toolkit.games.game import Game

TREE_PLIES = 8
Answers = Mapping[Position, Counter[int]]  # moves that a player made in a position, and how often
Scores = Mapping[Position, Sequence[int | None]]  # exact scores of a position's moves


class Repeats(NamedTuple):
    """How often a player gives the answer that it gave before."""

    met_again: int  # positions in which it moved at least twice
    same: int  # those of them in which it always made the same move

    @property
    def share(self) -> float | None:
        return self.same / self.met_again if self.met_again else None


class Tally(NamedTuple):
    """Games against an opponent, from one's own seat."""

    games: int
    points: float
    counted: int  # games that give points: those played to their end

    @property
    def lost(self) -> float:
        """Points that are to be won: those that were not."""
        return self.counted - self.points


class FirstMistake(NamedTuple):
    """A move by which a player first gave the result away."""

    moves: Columns  # before it, of the first game in which it was made
    made: JudgedMove
    games: int


class Step(NamedTuple):
    """A move of a line, and how often the games had it."""

    column: int
    is_answer: bool  # the opponent's
    seen: int  # times that the opponent made it in this position
    met: int  # times that the opponent moved in this position


class Line(NamedTuple):
    """What to play against an opponent: one's own moves keep the exact result, its answers are those it gave."""

    seat: int  # one's own
    steps: tuple[Step, ...]
    has_line: bool  # whether it ends with a line of one's own stones
    score: int | None  # the exact score of its last position for oneself; None where the empty board is not solved
    expected: float | None  # points over all answers that the opponent gave, and a perfect one in each position
    gains: bool  # whether that is more than perfect play of both sides gives

    @property
    def columns(self) -> Columns:
        return tuple(step.column for step in self.steps)


@dataclass(frozen=True)
class Branch:
    """A move of the tree of answers, with what followed."""

    column: int
    is_answer: bool
    games: int
    points: float | None  # one's own mean points in these games
    branches: list["Branch"] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """What the games against one opponent tell at once. What is by seat goes by one's own, the first player's first."""

    opponent: str
    tallies: tuple[Tally, Tally]
    repeats: Repeats
    faults: Counter[str]  # by which it lost
    overage: float | None  # most that it used in a game, in seconds, where that is known
    rating: float | None  # the latest that is known

    @property
    def whole(self) -> Tally:
        first, second = self.tallies
        return Tally(first.games + second.games, first.points + second.points, first.counted + second.counted)


@dataclass(frozen=True)
class Report(Row):
    """All that the games against one opponent tell."""

    me: str
    games: list[Game]  # against it, on one board
    geometry: Geometry
    left_out: int  # games on other boards
    trees: tuple[list[Branch], list[Branch]]
    lines: tuple[Line, Line]
    first_mistakes: list[FirstMistake]
    seconds: float | None  # median of its moves, where most of them are known
    scores: Scores
    unsolved: int  # positions


def answers_of(games: Iterable[Game], player: str) -> dict[Position, Counter[int]]:
    """What a player answered in each position in which it was to choose a move."""
    found: dict[Position, Counter[int]] = {}
    for game in games:
        for ply, position in game.positions().items():
            if game.names[ply % 2] == player:
                found.setdefault(position, Counter())[game.moves[ply]] += 1
    return found


def repeats(answers: Answers) -> Repeats:
    """How constant the answers are in positions that were met at least twice."""
    again = [counts for counts in answers.values() if counts.total() > 1]
    return Repeats(len(again), sum(len(counts) == 1 for counts in again))


def tally(games: Iterable[Game], me: str) -> Tally:
    points = [game.points[game.names.index(me)] if game.points else None for game in games]
    counted = [one for one in points if one is not None]
    return Tally(len(points), sum(counted), len(counted))


def most_overage(games: Iterable[Game], player: str) -> float | None:
    """The most seconds of overage time that a player used in a game; None if that is known of none."""
    used = [game.overage_used(game.names.index(player)) for game in games]
    return max((seconds for seconds in used if seconds is not None), default=None)


def median_seconds(games: Iterable[Game], player: str) -> float | None:
    """The median time of a player's moves; None unless more than half of them are known.

    Of an opponent on Kaggle only moves that drew on the overage time are. The first move of a game loads the agent and
    does not count.
    """
    times = [
        game.seconds(ply)
        for game in games
        for ply in range(game.opening + 2, game.called)
        if game.names[ply % 2] == player
    ]
    known = [seconds for seconds in times if seconds is not None]
    return median(known) if 2 * len(known) > len(times) else None


def faults_of(games: Iterable[Game], player: str) -> Counter[str]:
    """How often a player forfeited, by kind."""
    return Counter(game.fault.family for game in games if game.fault and game.names[game.fault.seat] == player)


def tree(games: Sequence[Game], me: str, seat: int, plies: int) -> list[Branch]:
    """The first moves of the games in which "me" had a seat, from the empty board on.

    Args:
        plies: depth of the tree; it ends earlier where a single game goes on.
    """
    here = [game for game in games if game.names[seat] == me and not game.opening]
    return _branches(here, me, seat, 0, plies)


def _branches(games: Sequence[Game], me: str, seat: int, ply: int, plies: int) -> list[Branch]:
    if ply == plies:
        return []
    by_column: dict[int, list[Game]] = {}
    for game in games:
        if ply < len(game.moves):
            by_column.setdefault(game.moves[ply], []).append(game)
    found = []
    for column, some in sorted(by_column.items(), key=lambda item: (-len(item[1]), item[0])):
        counted = tally(some, me)
        points = counted.points / counted.counted if counted.counted else None
        more = _branches(some, me, seat, ply + 1, plies) if len(some) > 1 else []
        found.append(Branch(column, ply % 2 != seat, len(some), points, more))
    return found


def first_mistakes(games: Iterable[Game], player: str, scores: Scores) -> list[FirstMistake]:
    """Where a player first gave a result away, most games first; games with a move before it unsolved are left out."""
    found: dict[tuple[Position, int], list[tuple[Game, JudgedMove]]] = {}
    for game in games:
        for ply, position in game.positions().items():
            if game.names[ply % 2] != player:
                continue
            if position not in scores:
                break
            move = JudgedMove(ply, game.moves[ply], tuple(scores[position]))
            if not move.kept_result:
                found.setdefault((position, move.column), []).append((game, move))
                break
    made = [FirstMistake(some[0][0].moves[: some[0][1].ply], some[0][1], len(some)) for some in found.values()]
    return sorted(made, key=lambda one: (-one.games, one.made.ply, one.moves))


def best_line(answers: Answers, scores: Scores, seat: int, geometry: Geometry) -> Line:
    """The line that promises most against answers that were really given, from the empty board on.

    One's own moves never make the exact result worse. Where no answer in the games promises anything, they lose as late
    as they can. The line goes on while the opponent's answer and its exact score are known, and ends with one's own
    move, or where the opponent would complete a line.

    Args:
        scores: of positions with either side to move; where they are missing, the line goes no further.
        seat: one's own.
    """
    start = Position.empty(geometry)
    values = scores.get(start)
    if values is None:
        return Line(seat, (), False, None, None, False)
    best = max(value for value in values if value is not None)
    return _Search(answers, scores, seat).line(start, best if seat == 0 else -best)


class _Promise(NamedTuple):
    """What a position promises, and one's move there; None where no more is known than its score."""

    points: float
    score: float
    column: int | None = None

    @classmethod
    def with_perfect_play(cls, score: int) -> "_Promise":
        return cls((1 + sign(score)) / 2, score)


class _Search:
    """Expected points over the opponent's known answers, with perfect play where they end.

    In each position where it was to move, one perfect answer counts beside those that it gave: a single game, or a line
    of answers that are each given once, promises little. All scores are for oneself.
    """

    def __init__(self, answers: Answers, scores: Scores, seat: int):
        self.answers, self.scores, self.seat = answers, scores, seat
        self.known: dict[Position, _Promise] = {}

    def line(self, start: Position, score: int) -> Line:
        promise = self._promise(start, score)
        position, end, steps = start, score, list[Step]()
        while (step := self._step(position, end)) is not None:
            values = self.scores[position]
            end = _score(values, step.column) * (-1 if step.is_answer else 1)
            position = position.play(step.column)
            steps.append(step)
        has_line = position.is_lost() and position.ply % 2 != self.seat
        gains = promise.points > _Promise.with_perfect_play(score).points
        return Line(self.seat, tuple(steps), has_line, end, promise.points, gains)

    def _promise(self, position: Position, score: int) -> _Promise:
        return self.own(position, score) if position.ply % 2 == self.seat else self.theirs(position, score)

    def _step(self, position: Position, score: int) -> Step | None:
        """The next move of the line: one's best, or the answer by which the opponent gives most away in all games."""
        if position.ply % 2 == self.seat:
            column = self.own(position, score).column
            return None if column is None else Step(column, False, 0, 0)
        counts = self.answers.get(position, Counter())
        if not counts or position not in self.scores:
            return None
        least = _Promise.with_perfect_play(score).points
        gains = {
            column: (times * (self._after(position, column).points - least), times)
            for column, times in counts.most_common()
        }
        column = max(gains, key=gains.__getitem__)
        return None if position.play(column).is_lost() else Step(column, True, counts[column], counts.total())

    def own(self, position: Position, score: int) -> _Promise:
        if position not in self.known:
            self.known[position] = self._own(position, score)
        return self.known[position]

    def _own(self, position: Position, score: int) -> _Promise:
        if (values := self.scores.get(position)) is None:
            return _Promise.with_perfect_play(score)
        promises = []
        for column, value in enumerate(values):
            if value is not None and sign(value) == sign(score):
                after = position.play(column)
                points, mean, _ = self.theirs(after, value)
                score_then = mean if points else value  # where nothing is to be had, the longest resistance
                promises.append((_Promise(points, score_then, column), after in self.answers))
        return max(promises, key=lambda one: (one[0].points, one[0].score, one[1]))[0]

    def theirs(self, position: Position, score: int) -> _Promise:
        """The mean over the answers that were given, and a perfect one."""
        promises = [(1, _Promise.with_perfect_play(score))]
        if position in self.scores:
            counts = self.answers.get(position, Counter())
            promises += [(times, self._after(position, column)) for column, times in counts.items()]
        total = sum(times for times, _ in promises)
        points = sum(times * promise.points for times, promise in promises) / total
        mean = sum(times * promise.score for times, promise in promises) / total
        return _Promise(round(points, 9), round(mean, 9))  # equal sums of other order are equal

    def _after(self, position: Position, column: int) -> _Promise:
        return self.own(position.play(column), -_score(self.scores[position], column))


def _score(values: Sequence[int | None], column: int) -> int:
    """The exact score of a move that was made."""
    score = values[column]
    assert score is not None
    return score


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
    rows = [_row(name, games, me) for name, games in by_opponent.items()]
    return sorted(rows, key=lambda row: (-row.whole.lost, -row.whole.games, row.opponent))


def _row(opponent: str, games: Sequence[Game], me: str) -> Row:
    ratings = [rating for game in games if (rating := game.ratings[game.names.index(opponent)]) is not None]
    first, second = ([game for game in games if game.names[seat] == me] for seat in (0, 1))
    return Row(
        opponent,
        (tally(first, me), tally(second, me)),
        repeats(answers_of(games, opponent)),
        faults_of(games, opponent),
        most_overage(games, opponent),
        ratings[-1] if ratings else None,
    )


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
        **vars(_row(opponent, here, me)),
        me=me,
        games=here,
        geometry=geometry,
        left_out=len(games) - len(here),
        trees=(tree(here, me, 0, TREE_PLIES), tree(here, me, 1, TREE_PLIES)),
        lines=(best_line(answers, scores, 0, geometry), best_line(answers, scores, 1, geometry)),
        first_mistakes=first_mistakes(here, opponent, scores),
        seconds=median_seconds(here, opponent),
        scores=scores,
        unsolved=len(wanted) - len(scores),
    )


def to_solve(games: Iterable[Game]) -> list[Position]:
    """The positions of games in which a player was to choose; the last are solved first.

    Those are the ones met most often, or without the opening table the latest, which alone are solved soon.
    """
    met = Counter(position for game in games for position in game.positions().values())

    def order(position: Position) -> tuple[int, int, int]:
        return met[position] if has_openings(position.geometry) else 0, position.ply, position.key

    return sorted(met, key=order)
