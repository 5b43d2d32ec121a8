"""Compares games with exact scores: which moves kept the result, and which gave it away.

The table of openings has the scores of the first plies of 7x6; the solver finds the rest of a game in 0.1 to 1 s. On
other boards, positions with few stones can take very long. A game therefore has a time limit, and its last positions,
which are the fastest, are solved first.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event
from typing import NamedTuple

from connectx.clock import Budget
from connectx.exact import has_openings, move_values
from connectx.position import STANDARD, Geometry, Position, sign
from connectx.solver import Solver
from connectx_toolkit.games.game import Game
from connectx_toolkit.system.console import ctrl_c_waits
from connectx_toolkit.system.cores import usable_cores
from connectx_toolkit.system.object_pool import ObjectPool

RESULTS = {1: "won", 0: "drawn", -1: "lost"}
GAME_SECONDS = 60.0  # for one game; on 7x6 far less is needed, see above
WITHOUT_TABLE = 10  # ply of 7x6 from which to judge without the table: solving earlier ones takes up to minutes
SHARE, LEAST_SHARE = 1 / 12, 2.0  # of a game's time, and seconds, after which a position and all before it are given up
SLICE = 1.0  # seconds between two checks for Ctrl-C; the solver's table keeps what a slice has found
MOST_THREADS = 4


class JudgedMove(NamedTuple):
    """A move with the exact scores of all moves of its position, for the side that moved."""

    ply: int
    column: int
    scores: tuple[int | None, ...]  # by column; None for a full one

    @property
    def seat(self) -> int:
        return self.ply % 2

    @property
    def value(self) -> int:
        """Of the position: that of its best moves."""
        return max(score for score in self.scores if score is not None)

    @property
    def played(self) -> int:
        """Of the move that was played."""
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
    def choice(self) -> str:
        """What was played, and what is best: "2, best 3 4"."""
        return f"{self.column}, best {' '.join(map(str, self.best_columns))}"

    @property
    def holds(self) -> bool:
        """Whether there was a result to keep: the position was not already lost."""
        return self.value >= 0

    @property
    def kept_result(self) -> bool:
        """Whether the result stayed the same: won, drawn or lost."""
        return sign(self.value) == sign(self.played)

    @property
    def is_perfect(self) -> bool:
        """Whether it has the best score: the quickest win, a draw, the slowest loss."""
        return self.played == self.value

    @property
    def shortens_loss(self) -> bool:
        """Whether it loses a lost position sooner than need be."""
        return self.played < self.value < 0

    @property
    def results(self) -> tuple[str, str]:
        """The result before and after the move, for the side that moved: ("won", "drawn")."""
        return RESULTS[sign(self.value)], RESULTS[sign(self.played)]

    def words(self) -> str:
        """Describes a move that changed the result: "won position given away (now drawn) ..."."""
        before, after = self.results
        given = f"{before} position given away (now {after})"
        return f"{given} on ply {self.ply} by column {self.column}; best: {self.best}"


@ObjectPool
def solvers_for(geometry: Geometry) -> list[Solver]:
    """Compiled solvers for so many threads of whom takes them, sharing a table that is kept."""
    threads = min(MOST_THREADS, len(usable_cores()))
    with ctrl_c_waits():
        first = Solver(geometry, threads=threads)
        first.solve_many([])  # compiles, which takes some seconds that no game's limit should include
    return [first, *(first.beside(number) for number in range(1, threads))]


def first_judged(game: Game) -> int:
    """The first ply of a game to judge: as early as is soon solved; not in its opening."""
    without_table = game.geometry == STANDARD and not has_openings(game.geometry)
    return max(WITHOUT_TABLE * without_table, game.opening)


def exact_scores(
    positions: Sequence[Position],
    geometry: Geometry,
    seconds: float = GAME_SECONDS,
    update: Callable[[], object] = lambda: None,
) -> dict[Position, tuple[int | None, ...]]:
    """The exact scores of all moves, for the positions that are solved in time; the last position is solved first.

    Args:
        seconds: limit for all positions together, on all cores. The first position that takes a twelfth of it ends
            the search: those before it take longer.
        update: called after each position.

    Raises:
        ValueError: the board is too large for the solver.
    """
    idle: SimpleQueue[Solver] = SimpleQueue()
    stop, share, found = Event(), max(LEAST_SHARE, SHARE * seconds), dict[Position, tuple[int | None, ...]]()

    def solve(position: Position) -> tuple[int | None, ...] | None:
        solver = idle.get()
        try:
            scores = _solved(position, solver, Budget.seconds(min(share, whole.seconds_left())), stop)
            if scores is None:
                stop.set()
            return scores
        finally:
            idle.put(solver)

    with solvers_for(geometry) as solvers, ThreadPoolExecutor(len(solvers)) as pool:
        whole = Budget.seconds(seconds)  # without what compiling took
        for solver in solvers:
            idle.put(solver)
        try:
            for position, scores in zip(positions[::-1], pool.map(solve, positions[::-1]), strict=True):
                if scores is not None:
                    found[position] = scores
                update()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    return found


def _solved(position: Position, solver: Solver, limit: Budget, stop: Event) -> tuple[int | None, ...] | None:
    """The scores of a position's moves; None if they are not all exact when time runs out or ``stop`` is set."""
    while True:
        values = move_values(position, solver, Budget.seconds(0 if stop.is_set() else min(SLICE, limit.seconds_left())))
        if all(value is None or value.exact for value in values):
            return tuple(None if value is None else value.low for value in values)
        if limit.is_late() or stop.is_set():
            return None


def judge(game: Game, seconds: float = GAME_SECONDS, update: Callable[[], object] = lambda: None) -> list[JudgedMove]:
    """Judges the moves of a game whose scores are found in time; none on a board that the solver cannot hold.

    Args:
        update: called after each position.
    """
    if not game.geometry.fits_word:
        return []
    positions = game.positions(first_judged(game))
    found = exact_scores([*positions.values()], game.geometry, seconds, update)
    return [JudgedMove(ply, game.moves[ply], found[one]) for ply, one in positions.items() if one in found]


def mistakes(judged: Iterable[JudgedMove]) -> list[JudgedMove]:
    """The moves that changed the result."""
    return [move for move in judged if not move.kept_result]


class Accuracy(NamedTuple):
    """How many moves were judged, and how good they were."""

    moves: int
    holding: int  # moves in positions that were not already lost, where there was a result to keep
    kept: int  # those of ``holding`` that kept the result
    perfect: int  # those of all moves that had the best score


def accuracy(moves: Iterable[JudgedMove]) -> Accuracy:
    """Counts moves by quality. Moves in lost positions are neither in ``holding`` nor in ``kept``."""
    listed = list(moves)
    holding = [move for move in listed if move.holds]
    kept, perfect = sum(move.kept_result for move in holding), sum(move.is_perfect for move in listed)
    return Accuracy(len(listed), len(holding), kept, perfect)
