"""Exact play: the opening table, then the solver; among equal moves, the one after which the opponent errs most.

How it comes to a move; the first way that applies, in this order:

1. A column of the second seat's book, if it has the position.
2. The exact scores of the opening table, up to ply 8 of the standard board.
3. The exact scores of the solver, in most of the move's time; early in the game it takes overage time, too.
4. If time runs out before the solver has finished, a heuristic search among the moves with the best proven bounds.
5. On boards that are too large for the solver, and without numba after the openings, the heuristic search alone.

Of 2 and 3: a win is played as quickly as possible. In a drawn or lost position it plays, of the moves that keep the
result, the one after which the opponent is expected to err most. In a loss that is late anyway it may choose among all
late losses.
"""

import random
from functools import lru_cache

from connectx_core.books import Book, openings
from connectx_core.clock import Budget, GameMemory, budget_for
from connectx_core.exact import exact_scores, move_values, promising
from connectx_core.network import PlainNetwork
from connectx_core.opponent import SLOW_LOSS, ErrorForecast, Opponent, ReplyModel, Scorer, best_columns
from connectx_core.position import STANDARD, Geometry, Position, Scores
from connectx_core.search import Searcher
from connectx_core.solver import Solver, Value
from connectx_core.weights import read_data

SWINDLE = True  # False: play the slowest loss, and the most central drawing move
SOLVER_SHARE = {STANDARD: 0.9}  # of a move's time; the heuristic search gets the rest if the solver has not finished
OTHER_SOLVER_SHARE = 0.5
NODES_OF_ESTIMATES = 50  # of the solver, in whose time the model judges a position: for budgets that count nodes

second_book = Book.from_bytes(read_data("weights/perfect_second_book.bin"))  # for SWINDLE
opponent = Opponent(
    ReplyModel.from_bytes(
        read_data("weights/perfect_replies.bin"),
        PlainNetwork.from_bytes(read_data("weights/strong_policy.bin")),
    )
)
known: dict[Position, Scores] = {}  # exact scores of moves, found in this game


solvers: dict[Geometry, Solver] = {}  # kept from game to game: to make one takes three times as long as to clear it
outdated: set[Geometry] = set()  # those of an earlier game


def solver_for(geometry: Geometry) -> Solver:
    """The solver of a board, which knows what was proven in this game."""
    if geometry not in solvers:
        solvers[geometry] = Solver(geometry)
    elif geometry in outdated:
        solvers[geometry].clear()
    outdated.discard(geometry)
    return solvers[geometry]


@lru_cache(maxsize=2)
def searcher_for(geometry: Geometry) -> Searcher:
    """On the standard board the search is a rare last resort, and compiling it then would take too long."""
    return Searcher(geometry, compiled=False if geometry == STANDARD else None)


game = GameMemory(known.clear, opponent.forget, lambda: outdated.update(solvers), searcher_for.cache_clear)


def best_of(values: list[Value | None]) -> Value:
    """The bounds of the position's score that follow from those of its moves."""
    proven = [value for value in values if value is not None]
    return Value(max(value.low for value in proven), max(value.high for value in proven))


def scores_within(budget: Budget, solver: Solver | None) -> Scorer:
    """Gives the exact scores of the moves of later positions, from the table or the solver, until the time is over."""
    start, answers = solver.nodes if solver else 0, 0

    def scores_of(position: Position) -> Scores | None:
        nonlocal answers
        if budget.is_late((solver.nodes - start if solver else 0) + NODES_OF_ESTIMATES * answers):
            return None
        answers += 1
        scores = known.get(position) or exact_scores(position, solver, budget)
        if scores is not None:
            known[position] = scores
        return scores

    return scores_of


def draw_column(columns: list[int], budget: Budget) -> int:
    """One of equally good columns, so that no two games need be alike; the first where a move must be repeatable."""
    return columns[0] if budget.nodes is not None else random.choice(columns)


def move_by_scores(position: Position, scores: Scores, budget: Budget, solver: Solver | None) -> int:
    """Ways 2 and 3: the move, given the exact scores of all."""
    if not SWINDLE:
        return best_columns(position, scores)[0]
    forecast = ErrorForecast(opponent.model, opponent.belief, scores_within(budget, solver), openings().scores)
    return draw_column(best_columns(position, scores, forecast), budget)


def move_by_solver(position: Position, budget: Budget) -> int:
    """Ways 2 to 4: the perfect move, as far as the budget allows."""
    solver, scores = solver_for(position.geometry), openings().scores(position)
    if scores is not None:
        return move_by_scores(position, scores, budget, solver)
    time_limit = budget
    share = SOLVER_SHARE.get(position.geometry, OTHER_SOLVER_SHARE)
    values = move_values(position, solver, budget.part(share), best=True)
    if (
        not best_of(values).exact and position.geometry == STANDARD
    ):  # early and outside the book: worth the overage time
        time_limit = budget.with_spare()
        values = move_values(position, solver, time_limit.part(SOLVER_SHARE[STANDARD]), best=True)
    if best_of(values).result is None:
        return searcher_for(position.geometry).search(position, time_limit, columns=promising(values)).column
    scores = [None if value is None else value.low for value in values]
    if SWINDLE and SLOW_LOSS <= best_of(values).high < 0:  # the choice is among all losses that are late
        late = solver.scores(position, budget, least=SLOW_LOSS)
        scores = [max(one.low, two.low) if one and two else None for one, two in zip(values, late, strict=True)]
    return move_by_scores(position, scores, budget, solver)


def find_move(position: Position, budget: Budget) -> int:
    """The move by the first of the ways that applies."""
    if SWINDLE and (columns := second_book.columns(position)):
        return draw_column(columns, budget)
    if position.geometry.fits_word and solver_for(position.geometry).compiled:
        return move_by_solver(position, budget)
    scores = openings().scores(position)
    if scores is not None:
        return move_by_scores(position, scores, budget, None)
    return searcher_for(position.geometry).search(position, budget).column


def agent(obs, config):
    budget = budget_for(obs, config)
    position = Position.from_observation(obs, config)
    before, reply = game.left, game.meet(position)
    # Its reply tells how the opponent plays, wherever the scores are known: from the table, or looked at by the choice.
    if before is not None and reply is not None and (scores := known.get(before) or openings().scores(before)):
        opponent.learn(before, reply, scores)
    column = find_move(position, budget)
    game.leave(position.play(column))
    return column


openings()  # 0.1 s, while the file loads: the first move has the most time to spare
solver_for(STANDARD).solve(Position.empty(STANDARD), Budget(nodes=1))
