"""Compares games with exact scores: which moves kept the result, and which gave it away.

The table of openings has the scores of the first plies of 7x6; the solver finds the rest of a game in 0.1 to 1 s. On
other boards, positions with few stones can take very long. A game therefore has a time limit, and its last positions,
which are the fastest, are solved first. Of the others, a search of a few plies proves wins and losses on any
board (``with_short_proofs``): intervals of the exact scores, as the solver's own.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event
from typing import NamedTuple

from connectx.clock import Budget
from connectx.exact import has_openings, move_values, promising
from connectx.position import STANDARD, Geometry, Position, plies_to_end, sign
from connectx.search import WIN, Result, Searcher
from connectx.solver import UNKNOWN, Solver, Value
from connectx_toolkit.games.game import Game
from connectx_toolkit.system.console import ctrl_c_waits
from connectx_toolkit.system.cores import usable_cores
from connectx_toolkit.system.object_pool import ObjectPool

RESULTS: dict[int | None, str] = {1: "won", 0: "drawn", -1: "lost"}
GAME_SECONDS = 60.0  # for one game; on 7x6 far less is needed, see above
WITHOUT_TABLE = 10  # ply of 7x6 from which to judge without the table: solving earlier ones takes up to minutes
SHARE, LEAST_SHARE = 1 / 12, 2.0  # of a game's time, and seconds, after which a position and all before it are given up
PROOF_SECONDS = 0.3  # of a short search, for one position: 5 plies of 10x10, which runs uncompiled, 12 plies of 7x8
TABLE_BUCKETS = 65_537  # of that search's table: 2 MB; a short search fills no more
SLICE = 1.0  # seconds between two checks for Ctrl-C; the solver's table keeps what a slice has found
MOST_THREADS = 4
Scores = Callable[[Position], Sequence[int | None] | None]


class JudgedMove(NamedTuple):
    """A move with what is proven of all moves of its position, for the side that moved: exact scores, or intervals."""

    ply: int
    column: int
    values: tuple[Value | None, ...]  # by column; None for a full one

    @classmethod
    def solved(cls, ply: int, column: int, scores: Sequence[int | None]) -> "JudgedMove":
        """A move of a position whose exact scores are known, by column."""
        return cls(ply, column, tuple(None if score is None else Value(score, score) for score in scores))

    @property
    def is_solved(self) -> bool:
        """Whether the exact scores of all moves are known."""
        return all(value is None or value.exact for value in self.values)

    @property
    def scores(self) -> list[int | None]:
        """The exact scores, by column, of a position that is solved."""
        return [None if value is None else value.low for value in self.values]

    @property
    def seat(self) -> int:
        return self.ply % 2

    @property
    def value(self) -> Value:
        """Of the position: that of its best moves."""
        known = [value for value in self.values if value is not None]
        return Value(max(value.low for value in known), max(value.high for value in known))

    @property
    def played(self) -> Value:
        """Of the move that was played."""
        value = self.values[self.column]
        assert value is not None
        return value

    @property
    def best_columns(self) -> list[int]:
        """The columns that are proven to be as good as any, or may be; [] while that is all of them."""
        best = promising(self.values)
        most = max(value.low for value in best.values())
        columns = [column for column, value in best.items() if value.low == most or not value.result]
        is_open = self.value.result is None and len(columns) == sum(value is not None for value in self.values)
        return [] if is_open else columns

    @property
    def best(self) -> str:
        """The best columns as text."""
        return ", ".join(map(str, self.best_columns))

    @property
    def holds(self) -> bool:
        """Whether there was a result to keep: the position was not already lost."""
        return self.value.low >= 0

    @property
    def kept_result(self) -> bool:
        """Whether the result stayed the same: won, drawn or lost. False only where it is proven that it changed."""
        return sign(self.value.low) <= sign(self.played.high)

    @property
    def is_perfect(self) -> bool:
        """Whether it has the best score: the quickest win, a draw, the slowest loss."""
        return self.played.low >= self.value.high

    @property
    def shortens_loss(self) -> bool:
        """Whether it loses a lost position sooner than need be."""
        return self.played.high < self.value.low and self.value.high < 0

    @property
    def results(self) -> tuple[str, str]:
        """The result before and after the move, for the side that moved: ("won", "drawn"); as far as it is proven."""
        before, after = self.value.result, self.played.result
        return RESULTS.get(before, "at least drawn"), RESULTS.get(after, "at most drawn")

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


def first_judged(game: Game, from_ply: int | None = None) -> int:
    """The first ply of a game to judge: ``from_ply``, or else as early as is soon solved; not in its opening."""
    without_table = game.geometry == STANDARD and not has_openings(game.geometry)
    return max(WITHOUT_TABLE * without_table if from_ply is None else from_ply, game.opening)


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
    with solvers_for(geometry) as solvers:
        return _solved_by(solvers, positions, seconds, update)


def _solved_by(
    solvers: Sequence[Solver], positions: Sequence[Position], seconds: float, update: Callable[[], object]
) -> dict[Position, tuple[int | None, ...]]:
    """As ``exact_scores``, by a thread for each solver."""
    idle: SimpleQueue[Solver] = SimpleQueue()
    for solver in solvers:
        idle.put(solver)
    whole, share, found = Budget.seconds(seconds), max(LEAST_SHARE, SHARE * seconds), {}
    with _threads(len(solvers)) as (pool, stop):

        def solve(position: Position) -> tuple[int | None, ...] | None:
            solver = idle.get()
            try:
                scores = _solved(position, solver, Budget.seconds(min(share, whole.seconds_left())), stop)
                if scores is None:
                    stop.set()
                return scores
            finally:
                idle.put(solver)

        for position, scores in zip(positions[::-1], pool.map(solve, positions[::-1]), strict=True):
            if scores is not None:
                found[position] = scores
            update()
    return found


@contextmanager
def _threads(count: int) -> Iterator[tuple[ThreadPoolExecutor, Event]]:
    """A pool of threads, and an event that tells them to stop, which is set when the block ends or raises."""
    stop = Event()
    with ThreadPoolExecutor(count) as pool:
        try:
            yield pool, stop
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _solved(position: Position, solver: Solver, limit: Budget, stop: Event) -> tuple[int | None, ...] | None:
    """The scores of a position's moves; None if they are not all exact when time runs out or ``stop`` is set."""
    while True:
        values = move_values(position, solver, Budget.seconds(0 if stop.is_set() else min(SLICE, limit.seconds_left())))
        if all(value is None or value.exact for value in values):
            return tuple(None if value is None else value.low for value in values)
        if limit.is_late() or stop.is_set():
            return None


def judge(game: Game, scores: Scores, first_ply: int = 0) -> list[JudgedMove]:
    """Judges every move that an agent chose from ``first_ply`` on; moves of positions without scores are left out."""
    judged = []
    for ply, position in game.positions(first_ply).items():
        found = scores(position)
        if found is not None:
            judged.append(JudgedMove.solved(ply, game.moves[ply], found))
    return judged


def judge_in_time(
    game: Game, first_ply: int, seconds: float = GAME_SECONDS, update: Callable[[], object] = lambda: None
) -> list[JudgedMove]:
    """As ``judge``, with the scores that are found in time; none on a board that the solver cannot hold."""
    if not game.geometry.fits_word:
        return []
    positions = [*game.positions(first_ply).values()]
    return judge(game, exact_scores(positions, game.geometry, seconds, update).get, first_ply)


def with_short_proofs(
    game: Game, first_ply: int, judged: Sequence[JudgedMove], update: Callable[[], object] = lambda: None
) -> list[JudgedMove]:
    """All moves from a ply on: those judged, and of the others what is proven: wins and losses of the next plies.

    Args:
        update: called after each position that was not among those judged.
    """
    found = {move.ply: move for move in judged}
    for ply, position in reversed(game.positions(first_ply).items()):
        if ply not in found:
            found[ply] = JudgedMove(ply, game.moves[ply], tuple(_values_in_time(position)))
            update()
    return [found[ply] for ply in sorted(found)]


def _values_in_time(position: Position) -> list[Value | None]:
    """What is proven of each column's move on any board, by a short search and then by the solver."""
    values = proven_values(position, PROOF_SECONDS)
    if not position.geometry.fits_word or all(value is None or value.exact for value in values):
        return values
    with solvers_for(position.geometry) as (solver, *_):  # compiles for some seconds, when it is first asked for
        return narrowed(values, move_values(position, solver, Budget.seconds(PROOF_SECONDS)))


@ObjectPool
def searcher_for(geometry: Geometry) -> Searcher:
    """A compiled searcher; its table is kept from position to position."""
    searcher = Searcher(geometry, buckets=TABLE_BUCKETS)
    start = Position.empty(geometry)
    if not start.winning_columns():
        searcher.search(start, Budget(nodes=1), max_depth=1)
    return searcher


def proven_values(position: Position, seconds: float) -> list[Value | None]:
    """What a search to a few plies proves of each column's move, seen by the side to move; None for a full column.

    It goes one ply deeper until the time is over. Wins and losses that it finds bound the score; a distance is exact
    where no shorter one can have been missed.

    Args:
        position: not over; of any size.
        seconds: without the compilation, which takes some seconds when a board is first asked for.
    """
    with searcher_for(position.geometry) as searcher:
        return _proven_by(searcher, position, Budget.seconds(seconds))


def _proven_by(searcher: Searcher, position: Position, budget: Budget) -> list[Value | None]:
    """As ``proven_values``, by a searcher whose kernel is compiled."""
    span = max(-UNKNOWN.low, (position.geometry.cells + 1) // 2)
    win = (position.geometry.cells + 1 - position.ply) // 2  # the score of a win with the next stone
    found: dict[int, Value] = {}
    after = {column: position.play(column) for column in position.legal_columns()}
    for column, child in after.items():
        if child.is_lost():
            found[column] = Value(win, win)
        elif child.is_full():
            found[column] = Value(0, 0)
    depth = 1
    while len(found) < len(after) and depth <= position.geometry.cells and not budget.is_late():
        for column in sorted(after.keys() - found.keys()):
            result = searcher.search(after[column], budget, max_depth=depth)
            if result.score > WIN or (result.score < -WIN and not budget.is_late()):  # a loss needs all of its replies
                found[column] = _bounds(after[column], result, span).negated()
        depth += 1
    unknown = Value(-span, win - 1)
    return [found.get(c, unknown) if c in after else None for c in range(position.geometry.columns)]


def _bounds(position: Position, result: Result, span: int) -> Value:
    """The interval of the score of a position that a search has proven to be won or lost."""
    score = result.score - WIN if result.score > 0 else result.score + WIN
    # A search sees all lines to two plies beyond its depth, and longer ones if replies are forced. The depth before
    # this one proved nothing, and the two sides' last stones alternate: a shorter line would be three plies shorter.
    if plies_to_end(score, position.ply, position.geometry.cells) <= result.depth + 3:
        return Value(score, score)
    return Value(score, span) if score > 0 else Value(-span, score)


def narrowed(values: Sequence[Value | None], others: Sequence[Value | None]) -> list[Value | None]:
    """What two proofs about the same moves say together."""
    pairs = zip(values, others, strict=True)
    return [
        None if one is None or other is None else Value(max(one.low, other.low), min(one.high, other.high))
        for one, other in pairs
    ]


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
