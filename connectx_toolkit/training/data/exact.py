"""Exact scores of many positions, by a pool of solvers; each is kept in a file as soon as it is found."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from connectx.clock import Budget
from connectx.exact import move_values
from connectx.openings import openings
from connectx.position import Position
from connectx.score import Scores
from connectx_toolkit.console.progress import progress
from connectx_toolkit.training.data.book_scores import ScoreFile
from connectx_toolkit.training.support.pool import process_solver, solver_pool

ScoresOf = Callable[[list[Position]], list[Scores]]  # the exact scores of positions of 7x6


def solve(position: Position) -> Scores:
    """The exact score of each column; called in a worker process."""
    return exact_scores(position, None) or []


def exact_scores(position: Position, budget: Budget | None) -> Scores | None:
    """The same; None if the budget ends before."""
    values = move_values(position, process_solver(), budget)
    if all(value is None or value.exact for value in values):
        return [None if value is None else value.low for value in values]
    return None


@contextmanager
def scores_kept_in(path: Path, workers: int, table_bits: int) -> Iterator[ScoresOf]:
    """Gives a function that scores positions: from the opening table, the file, or else by ``workers`` processes."""
    with ScoreFile(path) as scores, solver_pool(workers, table_bits) as pool:

        def scores_of(positions: list[Position]) -> list[Scores]:
            found = {p: openings().scores(p) or scores.get(p) for p in positions}
            wanted = list({position.canonical() for position, known in found.items() if known is None})
            with progress(len(wanted), "position", "exact scores", delay=0) as bar:
                for position, known in pool.map_unordered(solve, wanted):
                    scores.add(position, known)
                    bar.update()
            return [found[position] or scores[position] for position in positions]

        yield scores_of
