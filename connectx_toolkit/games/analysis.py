"""Compares games with exact scores: which moves kept the result, and which gave it away.

The table of openings has the scores of the first plies of 7x6; the solver finds the rest of a game in some 0.1 s. On
other boards, positions with few stones can take very long. A game therefore has a time limit, and its last positions,
which are the fastest, are solved first. What a position is worth is known when the one before it is solved: it is the
score of the move between them.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from queue import SimpleQueue
from threading import Event
from typing import NamedTuple

from connectx_core.books import openings
from connectx_core.clock import Budget
from connectx_core.exact import move_values
from connectx_core.position import SPAN, Geometry, Position, Scores, sign
from connectx_core.solver import Solver, Value
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.known_scores import KnownScores
from connectx_toolkit.system.console import ctrl_c_waits
from connectx_toolkit.system.cores import usable_cores
from connectx_toolkit.system.object_pool import ObjectPool

RESULT_WORDS = {1: "won", 0: "drawn", -1: "lost"}
GAME_SECONDS = 60.0  # for one game; on 7x6 far less is needed, see above
SHARE, LEAST_SECONDS = 1 / 12, 2.0  # of a game's time, after which a position and all before it are given up
SLICE = 1.0  # seconds between two checks for Ctrl-C; the solver's table keeps what a slice has found
MOST_THREADS = 4


class JudgedMove(NamedTuple):
    """A move with the exact scores of its position's moves, for the side that moved."""

    ply: int
    column: int
    scores: tuple[int | None, ...]  # by column; None for a full one, or for a worse one that was not asked for

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

    def best(self, first: int = 0) -> str:
        """The best columns as text. ``first``: the number of the leftmost one, 0 or 1."""
        return ", ".join(str(column + first) for column in self.best_columns)

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
        return RESULT_WORDS[sign(self.value)], RESULT_WORDS[sign(self.played)]

    def words(self, first: int = 0) -> str:
        """Describes a move that changed the result: "won position given away (now drawn) ...". ``first``: see best."""
        before, after = self.results
        given = f"{before} position given away (now {after})"
        return f"{given} on ply {self.ply} by column {self.column + first}; best: {self.best(first)}"


@ObjectPool
def solvers_for(geometry: Geometry) -> list[Solver]:
    """Compiled solvers for so many threads of whom takes them, sharing a table that is kept."""
    threads = min(MOST_THREADS, len(usable_cores()))
    with ctrl_c_waits():
        first = Solver(geometry, threads=threads)
        first.work(first.queue([]))  # compiles, which takes some seconds that no game's limit should include
    return [first, *(first.beside(number) for number in range(1, threads))]


class Deadline(NamedTuple):
    """When to give a position up: by the processor's time, so that a busy machine solves as much as an idle one."""

    end: float  # seconds of this thread's processor time
    stop: Event

    def slice(self) -> Budget:
        """A budget until the next look."""
        left = max(0.0, self.end - time.thread_time())
        return Budget.seconds(0 if self.stop.is_set() else min(SLICE, left))

    def is_over(self) -> bool:
        return time.thread_time() >= self.end or self.stop.is_set()


def _scores(position: Position, known: Value, solver: Solver, is_whole: bool, deadline: Deadline) -> Scores | None:
    """The exact scores of all moves, or of the best ones; None if they are not found in time.

    Args:
        known: what is proven of the position's own score, which is exact if only the best moves are asked for.
    """
    while True:
        values = move_values(position, solver, deadline.slice(), not is_whole, known)
        if all(value is None or value.exact or (value.high < known.low and not is_whole) for value in values):
            return [value.low if value is not None and value.exact else None for value in values]
        if deadline.is_over():
            return None


def _score(position: Position, least: int, solver: Solver, deadline: Deadline) -> int | None:
    """The exact score of a position, which is at least ``least``; None if it is not found in time."""
    if position.is_lost():
        return -((position.geometry.cells + 2 - position.ply) // 2)
    if position.is_over():
        return 0
    if (score := openings().score(position)) is not None:
        return score
    value = Value(least, SPAN)
    while not (value := solver.solve(position, deadline.slice(), known=value)).exact:
        if deadline.is_over():
            return None
    return value.low


def judge_all(
    games: Sequence[Game],
    seconds: float = GAME_SECONDS,
    is_whole: bool = False,
    update: Callable[[], object] = lambda: None,
) -> Iterator[list[JudgedMove]]:
    """Judges the moves of games whose scores are found in time; none on a board that the solver cannot hold.

    As many games at a time as there are cores. What was solved once is read from the user's folder, and goes there.

    Args:
        seconds: limit of processor time for each game. A position that takes a twelfth of it ends the game's search:
            those before it take longer.
        is_whole: find the scores of all moves, not only of the best ones and of those that were played.
        update: called after each position.
    """
    stop = Event()

    def judge_game(game: Game) -> list[JudgedMove]:
        solver = idle.get()
        try:
            return judge_with(solver, game)
        finally:
            idle.put(solver)

    def judge_with(solver: Solver, game: Game) -> list[JudgedMove]:
        moves, end, share = list[JudgedMove](), time.thread_time() + seconds, max(LEAST_SECONDS, SHARE * seconds)
        after: int | None = None  # the score of the position after the move, if it is known
        for ply, position in reversed(game.positions(game.opening).items()):
            column, scores = game.moves[ply], store.get(position)
            deadline = Deadline(min(end, time.thread_time() + share), stop)
            if after is None:
                after = _score(position.play(column), -SPAN, solver, deadline)
            wanted = position.legal_columns() if is_whole else []
            if after is not None and (scores is None or any(scores[each] is None for each in wanted)):
                score = _score(position, -after, solver, deadline)
                scores = None if score is None else _scores(position, Value(score, score), solver, is_whole, deadline)
                if scores is not None:
                    store.add(position, scores)
            update()
            if after is None or scores is None:
                after, end = None, 0.0  # from here on, only what the table has
                continue
            moves.append(JudgedMove(ply, column, (*scores[:column], -after, *scores[column + 1 :])))
            after = moves[-1].value
        return moves[::-1]

    with KnownScores() as store:
        for geometry, group in groupby(games, lambda game: game.geometry):
            if not geometry.fits_word:
                yield from ([] for _ in group)
                continue
            with solvers_for(geometry) as solvers, ThreadPoolExecutor(len(solvers)) as pool:
                idle = SimpleQueue[Solver]()
                for solver in solvers:
                    idle.put(solver)
                try:
                    yield from pool.map(judge_game, group)
                finally:
                    stop.set()
                    pool.shutdown(cancel_futures=True)
                stop.clear()


def judge(game: Game, seconds: float = GAME_SECONDS, update: Callable[[], object] = lambda: None) -> list[JudgedMove]:
    """Judges a game's moves as ``judge_all`` does, with the scores of all moves."""
    (moves,) = judge_all([game], seconds, True, update)
    return moves


def mistakes(judged: Iterable[JudgedMove]) -> list[JudgedMove]:
    """The moves that changed the result."""
    return [move for move in judged if not move.kept_result]


class MoveRates(NamedTuple):
    """How many moves were judged, and how good they were."""

    moves: int
    holding: int  # moves in positions that were not already lost, where there was a result to keep
    kept: int  # those of ``holding`` that kept the result
    perfect: int  # those of all moves that had the best score


def accuracy(moves: Iterable[JudgedMove]) -> MoveRates:
    """Counts moves by quality. Moves in lost positions are neither in ``holding`` nor in ``kept``."""
    listed = list(moves)
    holding = [move for move in listed if move.holds]
    kept, perfect = sum(move.kept_result for move in holding), sum(move.is_perfect for move in listed)
    return MoveRates(len(listed), len(holding), kept, perfect)
