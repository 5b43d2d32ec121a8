"""Exact play: the opening book, then the solver; of equal moves, the one that a fallible opponent answers worst.

Off the book, the scores of the first plies are known from the table of exact openings.
Where the time ends first, or on boards that are too large, it plays what is proven so far and by heuristic search.
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

SWINDLE = True  # False: slowest loss, most central draw
SOLVER_SHARE = {STANDARD: 0.9}  # of a move's time, before the search takes over where the solver has not finished
OTHER_SOLVER_SHARE = 0.5

book = Book.from_bytes(read_data("weights/book.bin"))


@lru_cache(maxsize=2)
def solver_for(geometry: Geometry) -> Solver:
    return Solver(geometry)


@lru_cache(maxsize=2)
def searcher_for(geometry: Geometry) -> Searcher:
    """On the standard board the search is a rare last resort, which compiling would make come too late."""
    return Searcher(geometry, compiled=False if geometry == STANDARD else None)


def best_of(values: list[Value | None]) -> Value:
    """What is proven of the position's score by what is proven of its moves."""
    known = [value for value in values if value is not None]
    return Value(max(value.low for value in known), max(value.high for value in known))


def exact_move(position: Position, budget: Budget) -> int:
    """The move of perfect play, as far as the budget allows."""
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
    if not best_of(values).exact and position.geometry == STANDARD:  # in the book's plies, but off it: worth the bank
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
if compiles():  # while the file loads, the first move has most time
    solver_for(STANDARD).solve(Position.empty(STANDARD), Budget(nodes=1))
