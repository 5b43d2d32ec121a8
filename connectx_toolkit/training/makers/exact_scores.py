"""Exact scores of many positions of 7x6, by a pool of solvers; what was solved once is kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from connectx_core.exact import exact_scores
from connectx_core.position import Position, Scores
from connectx_toolkit.games.known_scores import KnownScores
from connectx_toolkit.system.console import progress
from connectx_toolkit.training.runs import process_solver, solver_pool

ScoresOf = Callable[[list[Position]], list[Scores]]  # the exact scores of positions


def solve(position: Position) -> Scores:
    """The exact score of each column; called in a worker process."""
    return exact_scores(position, process_solver()) or []


@contextmanager
def pool_scores(workers: int, table_bits: int) -> Iterator[ScoresOf]:
    """Gives a function that scores positions: by what is known, or else by ``workers`` processes."""
    solved = dict[Position, Scores]()
    with KnownScores() as store, solver_pool(workers, table_bits) as pool:

        def scores_of(positions: list[Position]) -> list[Scores]:
            known = {position: store.whole(position) or solved.get(position) for position in positions}
            wanted = list({position.canonical() for position, scores in known.items() if scores is None})
            with progress(len(wanted), "position", "exact scores", delay=0) as bar:
                for position, scores in pool.map_unordered(solve, wanted):
                    store.add(position, scores)
                    solved[position], solved[position.mirror()] = scores, scores[::-1]
                    bar.update()
            return [known[position] or solved[position] for position in positions]

        yield scores_of
