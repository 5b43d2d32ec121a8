"""Exact play: the opening book, then the solver; among equal moves, the one that a fallible opponent answers worst.

In openings outside the book, the scores come from the table of exact openings. If time runs out before the solver has
finished, a heuristic search chooses among the moves with the best proven bounds. On boards that are too large for the
solver, and without numba after the openings, the heuristic search plays alone.
"""

from functools import lru_cache

from connectx.book import Book
from connectx.choice import Scores, choose
from connectx.clock import Budget, budget_for
from connectx.exact import promising
from connectx.geometry import STANDARD, Geometry
from connectx.jit import compiles
from connectx.openings import openings
from connectx.position import Position
from connectx.search import Searcher
from connectx.solver import UNKNOWN, Solver, Value
from connectx.weights import read_data

SWINDLE = True  # False: play the slowest loss, and the most central drawing move
SOLVER_SHARE = {STANDARD: 0.9}  # of a move's time; the heuristic search gets the rest if the solver has not finished
OTHER_SOLVER_SHARE = 0.5

book = Book.from_bytes(read_data("weights/book.bin"))


@lru_cache(maxsize=2)
def solver_for(geometry: Geometry) -> Solver:
    return Solver(geometry)


@lru_cache(maxsize=2)
def searcher_for(geometry: Geometry) -> Searcher:
    """On the standard board the search is a rare last resort, and compiling it then would take too long."""
    return Searcher(geometry, compiled=False if geometry == STANDARD else None)


def best_of(values: list[Value | None]) -> Value:
    """The bounds of the position's score that follow from those of its moves."""
    known = [value for value in values if value is not None]
    return Value(max(value.low for value in known), max(value.high for value in known))


def exact_move(position: Position, budget: Budget) -> int:
    """The perfect move, as far as the budget allows."""
    solver, table = solver_for(position.geometry), openings()
    start = solver.nodes

    def replies(child: Position) -> Scores | None:
        if budget.is_late(solver.nodes - start) or not SWINDLE:
            return None
        known = table.scores(child)
        if known is not None:
            return known
        values = solver.scores(child, budget)
        exact = all(value is None or value.exact for value in values)
        return [None if value is None else value.low for value in values] if exact else None

    scores = table.scores(position)
    if scores is not None:
        return choose(position, scores, replies, budget)
    time_limit, score = budget, table.score(position)
    known = UNKNOWN if score is None else Value(score, score)
    share = SOLVER_SHARE.get(position.geometry, OTHER_SOLVER_SHARE)
    values = solver.best_moves(position, budget.part(share), known)
    if not best_of(values).exact and position.geometry == STANDARD:  # early and outside the book: worth the bank's time
        time_limit = budget.with_spare()
        values = solver.best_moves(position, time_limit.part(SOLVER_SHARE[STANDARD]), known)
    if best_of(values).result is None:
        return searcher_for(position.geometry).search(position, time_limit, columns=promising(values)).column
    return choose(position, [None if value is None else value.low for value in values], replies, budget)


def agent(obs, config):
    budget = budget_for(obs, config)
    position = Position.from_observation(obs, config)
    known = book.column(position)
    if known is not None:
        return known
    if compiles() and position.geometry.fits_word:
        return exact_move(position, budget)
    scores = openings().scores(position)
    if scores is not None:
        return choose(position, scores, openings().scores, budget)
    return searcher_for(position.geometry).search(position, budget).column


openings()  # 0.1 s
if compiles():  # compile while the file loads: the first move has the most time to spare
    solver_for(STANDARD).solve(Position.empty(STANDARD), Budget(nodes=1))
