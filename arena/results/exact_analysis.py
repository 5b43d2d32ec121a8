"""Games against exact values: which moves kept the result, which gave it away.

The table of the openings knows the first plies of 7x6 at once; the solver finds the rest of a game in 0.1 to 1 s. On
other boards, positions of few stones can take it very long: a game has a time limit, and its last positions, the
quickest, come first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from queue import SimpleQueue
from threading import Event
from typing import NamedTuple

from arena.results.records import GameRecord
from arena.runs.cores import usable_cores
from connectx.choice import sign
from connectx.clock import Budget
from connectx.exact import has_openings, move_values
from connectx.geometry import STANDARD, Geometry
from connectx.position import Position
from connectx.solver import Solver

RESULTS = {1: "won", 0: "drawn", -1: "lost"}
GAME_SECONDS = 60.0  # a game of 7x6 needs far less, see above
WITHOUT_TABLE = 10  # ply of 7x6: solving earlier ones takes up to minutes
SLICE = 1.0  # seconds of search after which Ctrl-C ends it; what a slice has found stays in the solver's table
MOST_THREADS = 4
Scores = Callable[[Position], Sequence[int | None] | None]


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
    def best(self) -> str:
        """The best columns as text."""
        return ", ".join(map(str, self.best_columns))

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
        return (
            f"{before} position given away (now {after}) on ply {self.ply} by column {self.column}; best: {self.best}"
        )


@lru_cache(maxsize=1)
def solvers_for(geometry: Geometry) -> list[Solver]:
    """One solver a thread, over one table, compiled."""
    threads = min(MOST_THREADS, len(usable_cores()))
    first = Solver(geometry, threads=threads)
    first.solve_many([])  # compiles, for some seconds, which no game's time should pay
    return [first, *(first.beside(number) for number in range(1, threads))]


def first_judged(geometry: Geometry) -> int:
    """The ply from which games on this board are judged, unless somebody says otherwise."""
    return WITHOUT_TABLE if geometry == STANDARD and not has_openings(geometry) else 0


def exact_scores(
    positions: Sequence[Position],
    geometry: Geometry,
    seconds: float = GAME_SECONDS,
    update: Callable[[], object] = lambda: None,
) -> dict[Position, tuple[int | None, ...]]:
    """The exact scores of all moves of those positions that can be solved in time, the last one first.

    Args:
        seconds: for all of them together, on all cores.
        update: called after each position.

    Raises:
        ValueError: the solver cannot hold the board.
    """
    idle: SimpleQueue[Solver] = SimpleQueue()
    for solver in solvers_for(geometry):
        idle.put(solver)
    whole, found = Budget.seconds(seconds), {}
    with _threads(idle.qsize()) as (pool, stop):

        def solve(position: Position) -> tuple[int | None, ...] | None:
            solver = idle.get()
            try:
                return _solved(position, solver, whole, stop)
            finally:
                idle.put(solver)

        for position, scores in zip(positions[::-1], pool.map(solve, positions[::-1]), strict=True):
            if scores is not None:
                found[position] = scores
            update()
    return found


@contextmanager
def _threads(count: int) -> Iterator[tuple[ThreadPoolExecutor, Event]]:
    """Threads, and the event that tells them to stop, which is set at the end, however it comes."""
    stop = Event()
    with ThreadPoolExecutor(count) as pool:
        try:
            yield pool, stop
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _solved(position: Position, solver: Solver, whole: Budget, stop: Event) -> tuple[int | None, ...] | None:
    """The scores of a position's moves, or None if they are not all exact when the time ends or somebody stops it."""
    while True:
        values = move_values(position, solver, Budget.seconds(min(SLICE, whole.seconds_left())))
        if all(value is None or value.exact for value in values):
            return tuple(None if value is None else value.low for value in values)
        if whole.is_late() or stop.is_set():
            return None


def judge(record: GameRecord, scores: Scores, first_ply: int = 0) -> list[JudgedMove]:
    """Every move that an agent chose from ``first_ply`` on, judged, but for those whose position has no scores."""
    judged = []
    for ply, position in chosen_from(record, first_ply).items():
        found = scores(position)
        if found is not None:
            judged.append(JudgedMove(ply, record.moves[ply], tuple(found)))
    return judged


def chosen_from(record: GameRecord, first_ply: int = 0) -> dict[int, Position]:
    """The positions from ``first_ply`` on in which an agent chose a move, by ply."""
    found, position = {}, Position.empty(record.geometry)
    for ply, column in enumerate(record.moves):
        if ply >= max(first_ply, record.opening):
            found[ply] = position
        position = position.play(column)
    return found


def judge_in_time(
    record: GameRecord, first_ply: int, seconds: float = GAME_SECONDS, update: Callable[[], object] = lambda: None
) -> list[JudgedMove]:
    """As ``judge``, by the scores that are found in time; see ``exact_scores``."""
    positions = [*chosen_from(record, first_ply).values()]
    return judge(record, exact_scores(positions, record.geometry, seconds, update).get, first_ply)


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
