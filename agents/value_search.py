"""PUCT over the policy and value network: a tree search whose leaves the network judges, as long as the clock allows.

What can be proven comes first: the table of the openings or, where numba works, the exact solver scores the moves for
half of the time. If that suffices, the network only chooses among the best moves; otherwise it searches those that may
be best, and the solver looks at each leaf, at a few nodes. The network knows one board; on others a heuristic
alpha-beta search plays.
"""

from functools import lru_cache

import numpy as np

from connectx.clock import Budget, budget_for
from connectx.exact import move_values, promising
from connectx.game_memory import GameMemory
from connectx.geometry import STANDARD, Geometry
from connectx.jit import compiles
from connectx.nets.network import PlainNetwork, expected_result, softmax
from connectx.nets.puct import Judgement, Search
from connectx.openings import openings
from connectx.position import Position
from connectx.score import sign
from connectx.search import Searcher
from connectx.solver import Solver
from connectx.weights import read_data

# Of the policy: above 1, the search trusts it less. With 5 it erred in 4 of 600 positions of the kinds Middle-Medium
# and Begin-Medium at 600 evaluations, with 10 and with 20 in 1; with 20 and with 40 in 31 and 36 of 1,874 harder ones.
TEMPERATURE = 20.0
BATCH = 8
# The solver's nodes at a leaf. Errors on 400 positions like Begin-Hard at 600 evaluations: without the solver 5.2%,
# with 2000 nodes 2.5%, with 8000 nodes 1.2%, in little more time.
PROOF_NODES = 8000
SOLVER_SHARE = 0.5  # of a move's time, for the exact scores of its moves

network = PlainNetwork.from_bytes(read_data("weights/net.bin"))


@lru_cache(maxsize=1)
def solver() -> Solver | None:
    """None without numba, where it would be too slow."""
    return Solver(STANDARD) if compiles() else None


def judge(positions: np.ndarray, masks: np.ndarray) -> Judgement:
    """The network's policy and what it expects of positions and moves: probability to win minus that to lose."""
    outputs = network.judge_many(positions, masks)
    return Judgement(softmax(outputs["policy"], TEMPERATURE), expected_result(outputs["value"]), outputs["results"])


def prove(position: int, mask: int) -> int | None:
    """A score whose sign is exact, if the solver finds one within PROOF_NODES; else None."""
    if (exact := solver()) is None:
        return None
    value = exact.solve(Position(position, mask, STANDARD), Budget(nodes=PROOF_NODES), weak=True)
    if value.result is None:
        return None
    return value.low if value.result > 0 else value.high


@lru_cache(maxsize=2)
def searcher_for(geometry: Geometry) -> Searcher:
    """Uncompiled: to compile for a board that rarely comes up would take longer than a move may."""
    return Searcher(geometry, compiled=False)


game = GameMemory(solver.cache_clear, searcher_for.cache_clear)


def best_column(position: Position, budget: Budget) -> int:
    """The best move that is proven, the network's favourite among equals; where none is, what the search finds."""
    moves = promising(move_values(position, solver(), budget.part(SOLVER_SHARE), best=True))
    if all(value.result is not None for value in moves.values()):
        logits = network.judge(position)["policy"]
        column = max(moves, key=lambda column: (moves[column].low, logits[column]))
        tell({"score": ("loss", "draw", "win")[sign(moves[column].low) + 1] + ", proven"})
        return column
    if len(moves) == 1:
        return next(iter(moves))
    search = Search(position, judge, BATCH, prove, moves)
    choice = search.run(budget)
    tell(search.thoughts(choice))
    return choice.column


def tell(thoughts: dict | None) -> None:
    """Keeps what the board asks for after a move; None where there is nothing to tell."""
    agent.thoughts = lambda: thoughts  # type: ignore[attr-defined]


def agent(obs, config):
    tell(None)  # those of the move before are out of date
    budget = budget_for(obs, config)
    position = Position.from_observation(obs, config)
    game.meet(position)
    if position.geometry == network.architecture.geometry:
        column = best_column(position, budget)
    else:
        column = searcher_for(position.geometry).search(position, budget).column
    game.leave(position.play(column))
    return column


openings()  # 0.1 s
if (first := solver()) is not None:  # compiles while the file loads, where the first move has most time
    first.solve(Position.empty(STANDARD), Budget(nodes=1))
