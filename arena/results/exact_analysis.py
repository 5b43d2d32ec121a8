"""Games against exact values: which moves kept the result, which gave it away.

Exact values come from the solver; positions with the fewest stones take it longest (seconds on 7x6 below ply 8), so a
first ply can be set before which moves are not judged. Whether a move kept the result is known sooner than its score:
on 7x6 mostly within seconds from ply 3 on.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from arena.results.records import GameRecord
from connectx.choice import sign
from connectx.clock import Budget
from connectx.geometry import Geometry
from connectx.position import Position
from connectx.solver import Solver

RESULTS = {1: "won", 0: "drawn", -1: "lost"}
SLICE = 4.0  # seconds
Scores = Callable[[Position], list[int | None]]


class JudgedMove(NamedTuple):
    """One move against the exact scores of all moves, seen by the side that moved."""

    ply: int
    column: int
    scores: tuple[int | None, ...]  # by column; None where it is full

    @property
    def seat(self) -> int:
        return self.ply % 2

    @property
    def value(self) -> int:
        """Score of the position: that of its best moves."""
        return max(score for score in self.scores if score is not None)

    @property
    def played(self) -> int:
        """Score of the move."""
        score = self.scores[self.column]
        assert score is not None
        return score

    @property
    def best_columns(self) -> list[int]:
        return [column for column, score in enumerate(self.scores) if score == self.value]

    @property
    def holds(self) -> bool:
        """Whether there was a result to keep: the position was not lost yet."""
        return self.value >= 0

    @property
    def kept_result(self) -> bool:
        """Whether a won position stayed won, a drawn one drawn."""
        return sign(self.played) == sign(self.value)

    @property
    def is_perfect(self) -> bool:
        """Whether it is of the best score: the quickest win, the slowest loss."""
        return self.played == self.value

    @property
    def results(self) -> tuple[str, str]:
        """The result before and after it, seen by the side that moved: ("won", "drawn")."""
        return RESULTS[sign(self.value)], RESULTS[sign(self.played)]

    def words(self) -> str:
        """What it did, where it kept the result no longer: "won position given away (now drawn) ..."."""
        before, after = self.results
        best = ", ".join(map(str, self.best_columns))
        return f"{before} position given away (now {after}) on ply {self.ply} by column {self.column}; best: {best}"


@lru_cache(maxsize=1)
def _solver_for(geometry: Geometry) -> Solver:
    return Solver(geometry)


def solver_scores(geometry: Geometry) -> Scores:
    """Exact scores of the legal moves of a position, by column.

    Raises:
        ValueError: the solver cannot hold the board.
    """
    solver = _solver_for(geometry)

    def scores(position: Position) -> list[int | None]:
        return [None if value is None else value.low for value in solver.scores(position)]

    return scores


def solver_results(
    geometry: Geometry, seconds: float, update: Callable[[int], object]
) -> Callable[[Position], list[int | None] | None]:
    """The results of the legal moves of a position, 1, 0 or -1 by column; None once the seconds are over.

    Args:
        seconds: for all positions together, from now on.
        update: told every ``SLICE`` seconds how many whole ones have passed since it was last told.

    Raises:
        ValueError: the solver cannot hold the board.
    """
    solver, whole, told = _solver_for(geometry), Budget.seconds(seconds), 0

    def results(position: Position) -> list[int | None] | None:
        nonlocal told
        while True:  # what a slice has found stays in the solver's table
            values = solver.scores(position, Budget.seconds(min(SLICE, whole.seconds_left())), weak=True)
            passed = int(min(seconds, seconds - whole.seconds_left()))
            update(passed - told)
            told = passed
            if not any(value is not None and value.result is None for value in values):
                return [None if value is None else value.result for value in values]
            if whole.is_late():
                return None

    return results


def judge(record: GameRecord, scores: Scores, first_ply: int = 0) -> list[JudgedMove]:
    """Every move that an agent chose from ``first_ply`` on, judged."""
    judged, position = [], Position.empty(record.geometry)
    for ply, column in enumerate(record.moves):
        if ply >= max(first_ply, record.opening):
            judged.append(JudgedMove(ply, column, tuple(scores(position))))
        position = position.play(column)
    return judged


def judge_backwards(
    record: GameRecord, seat: int, before: int, results: Callable[[Position], list[int | None] | None]
) -> Iterator[JudgedMove]:
    """The moves that a seat chose before a ply, the latest first, judged by results alone, while there are any."""
    for ply in range(before - 1, record.opening - 1, -1):
        if ply % 2 != seat:
            continue
        found = results(Position.from_moves(record.moves[:ply], record.geometry))
        if found is None:
            return
        yield JudgedMove(ply, record.moves[ply], tuple(found))


def mistakes(judged: Iterable[JudgedMove]) -> list[JudgedMove]:
    """The moves that changed the result."""
    return [move for move in judged if not move.kept_result]


def losing_move(judged: Sequence[JudgedMove]) -> JudgedMove | None:
    """The last move that changed the result: after it, nobody gave anything away."""
    return next(reversed(mistakes(judged)), None)


class Accuracy(NamedTuple):
    """How many moves were judged, and how good they were."""

    moves: int
    holding: int  # of these, in positions that were not lost already: there was something to keep
    kept: int  # of the holding ones, those that kept the result
    perfect: int  # of all, those of the best score


def accuracy(moves: Iterable[JudgedMove]) -> Accuracy:
    """Moves of positions that were lost already count neither way for ``kept``: nothing could be lost there."""
    listed = list(moves)
    holding = [move for move in listed if move.holds]
    kept, perfect = sum(move.kept_result for move in holding), sum(move.is_perfect for move in listed)
    return Accuracy(len(listed), len(holding), kept, perfect)
