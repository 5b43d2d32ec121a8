"""Exact play: the opening table, then the solver; among equal moves, the one after which the opponent errs most.

How it comes to a move; the first way that applies, in this order:

1. A column of the book for the second player, if it has the position.
2. The exact scores of the opening table, up to ply 8 of the standard board.
3. The exact scores of the solver, in most of the move's time; early in the game it takes overage time, too.
4. If time runs out before the solver has finished, a heuristic search among the moves with the best proven bounds.
5. The heuristic search alone, on boards that are too large for the solver, and after ply 8 if numba is missing.

Of 2 and 3: a win is played as quickly as possible. In a drawn or lost position it plays, of the moves that keep the
result, the one after which the opponent is expected to err most: the sum over its replies of how likely it plays each,
times what that reply gives away (``connectx_core/opponent.py``). Among the moves that lose late (a score of
``SLOW_LOSS`` or more) it takes any, not the slowest alone.
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
NODES_PER_ESTIMATE = 50  # solver nodes charged for each position that the model judges, where a budget counts nodes

second_book = Book.from_bytes(read_data("weights/perfect_second_book.bin"))  # for SWINDLE
opponent = Opponent(
    ReplyModel.from_bytes(
        read_data("weights/perfect_replies.bin"),
        PlainNetwork.from_bytes(read_data("weights/strong_policy.bin")),
    )
)
known: dict[Position, Scores] = {}  # exact scores of moves, found in this game
solvers: dict[Geometry, Solver] = {}  # kept from game to game: to make one takes three times as long as to clear it
outdated: set[Geometry] = set()  # boards whose solver still knows an earlier game; cleared when it is used again


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


def score_of(values: list[Value | None]) -> Value:
    """The position's score by those of its moves, each known between a low and a high bound."""
    proven = [value for value in values if value is not None]
    return Value(max(value.low for value in proven), max(value.high for value in proven))


def make_scorer(budget: Budget, solver: Solver | None) -> Scorer:
    """A function that gives the exact scores of a later position's moves, from table or solver, until time is over."""
    start, answers = solver.nodes if solver else 0, 0

    def scores_of(position: Position) -> Scores | None:
        nonlocal answers
        if budget.is_late((solver.nodes - start if solver else 0) + NODES_PER_ESTIMATE * answers):
            return None
        answers += 1
        scores = known.get(position) or exact_scores(position, solver, budget)
        if scores is not None:
            known[position] = scores
        return scores

    return scores_of


def pick_column(columns: list[int], budget: Budget) -> int:
    """One of equally good columns: a random one, so that games vary; the first where a budget counts nodes."""
    return columns[0] if budget.nodes is not None else random.choice(columns)


def move_by_scores(position: Position, scores: Scores, budget: Budget, solver: Solver | None) -> int:
    """Ways 2 and 3: the move, given the exact scores of all."""
    if not SWINDLE:
        return best_columns(position, scores)[0]
    forecast = ErrorForecast(opponent.model, opponent.belief, make_scorer(budget, solver), openings().scores)
    return pick_column(best_columns(position, scores, forecast), budget)


def move_by_solver(position: Position, budget: Budget) -> int:
    """Ways 2 to 4: the perfect move, as far as the budget allows."""
    solver, scores = solver_for(position.geometry), openings().scores(position)
    if scores is not None:
        return move_by_scores(position, scores, budget, solver)
    time_limit = budget
    share = SOLVER_SHARE.get(position.geometry, OTHER_SOLVER_SHARE)
    values = move_values(position, solver, budget.part(share), best=True)  # which moves are best, and by how much
    if not score_of(values).exact and position.geometry == STANDARD:  # early in the game: worth the overage time
        time_limit = budget.with_spare()
        values = move_values(position, solver, time_limit.part(SOLVER_SHARE[STANDARD]), best=True)
    if score_of(values).result is None:  # win, draw or loss is not proven
        return searcher_for(position.geometry).search(position, time_limit, columns=promising(values)).column
    scores = [None if value is None else value.low for value in values]  # exact for the best moves
    if SWINDLE and SLOW_LOSS <= score_of(values).high < 0:  # the choice is among all late losses: which are there?
        late = solver.scores(position, budget, least=SLOW_LOSS)
        scores = [max(one.low, two.low) if one and two else None for one, two in zip(values, late, strict=True)]
    return move_by_scores(position, scores, budget, solver)


def find_move(position: Position, budget: Budget) -> int:
    """The move by the first of the ways that applies."""
    if SWINDLE and (columns := second_book.columns(position)):
        return pick_column(columns, budget)
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
    # The reply tells how the opponent plays, if the scores are known: by the table, or found while choosing our move.
    if before is not None and reply is not None and (scores := known.get(before) or openings().scores(before)):
        opponent.learn(before, reply, scores)
    column = find_move(position, budget)
    game.leave(position.play(column))
    return column


openings()  # 0.1 s, while the file loads: the first move has the most time to spare
solver_for(STANDARD).solve(Position.empty(STANDARD), Budget(nodes=1))
