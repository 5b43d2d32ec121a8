"""PUCT over the policy and value network: a tree search whose leaves the network judges, as long as the clock allows.

Where numba works, an exact solver looks at each leaf first, at a few nodes: near the end it knows what the network can
only guess. The network knows one board; on others a heuristic alpha-beta search plays.
"""

from functools import lru_cache

import numpy as np

from connectx.clock import Budget, budget_for
from connectx.geometry import STANDARD, Geometry
from connectx.jit import compiles
from connectx.nets import PlainNetwork, expected_result, softmax
from connectx.position import Position
from connectx.puct import Search
from connectx.search import Searcher
from connectx.solver import Solver
from connectx.weights import read_data

TEMPERATURE = 2.5  # of the policy: above 1, the search trusts it less. At 600 evaluations 1.5 errs in 6.8%, 4 in 7.0%
BATCH = 8
# Of the solver at a leaf. Errors on 400 positions like Begin-Hard at 600 evaluations: without 5.2%, with 2000 2.5%,
# with 8000 1.2%, in little more time.
PROOF_NODES = 8000

network = PlainNetwork.from_bytes(read_data("weights/net.bin"))
solver = Solver(STANDARD) if compiles() else None


def judge(positions: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The network's policy, (n, columns), and its expected results, (n,): the chance to win less that to lose."""
    outputs = network.judge_many(positions, masks)
    return softmax(outputs["policy"], TEMPERATURE), expected_result(outputs["value"])


def prove(position: int, mask: int) -> int | None:
    """A score whose sign is exact, if the solver finds one within PROOF_NODES."""
    if solver is None:
        return None
    value = solver.solve(Position(position, mask, STANDARD), Budget(nodes=PROOF_NODES), weak=True)
    if value.result is None:
        return None
    return value.low if value.result > 0 else value.high


@lru_cache(maxsize=2)
def searcher_for(geometry: Geometry) -> Searcher:
    """Uncompiled: compiling for a board that comes up once would take longer than a move has."""
    return Searcher(geometry, compiled=False)


def agent(obs, config):
    budget = budget_for(obs, config)
    position = Position.from_observation(obs, config)
    if position.geometry == network.architecture.geometry:
        search = Search(position, judge, BATCH, prove)
        choice = search.run(budget)
        told = search.thoughts(choice)
        agent.thoughts = lambda: told  # type: ignore[attr-defined]  # the board asks for it
        return choice.column
    return searcher_for(position.geometry).search(position, budget).column


if solver is not None:  # compiles while the file loads, where the first move has most time
    solver.solve(Position.empty(STANDARD), Budget(nodes=1))
