"""Sparring partners of graded strength: agents that are weakened as their name says.

``minimax@4`` is the search of minimax with the heuristic, 4 plies deep, without a clock; ``NAME~10`` is any agent of
ours or of Kaggle's that plays a random legal move in 10% of its moves; ``minimax@4~10`` is both.
"""

import random
from collections.abc import Callable

from connectx.clock import Budget
from connectx.geometry import STANDARD
from connectx.position import Position
from connectx.search import Searcher


def at_depth(depth: int) -> Callable:
    """The search of minimax with the heuristic, always to the same depth.

    Each game gets a new table, so that games are reproducible.
    """
    Searcher(STANDARD).search(Position.empty(STANDARD), Budget(), max_depth=1)  # compiles at the load, as minimax does
    last: Position | None = None
    searcher: Searcher | None = None

    def agent(obs, config):
        nonlocal last, searcher
        position = Position.from_observation(obs, config)
        if searcher is None or last is None or position.geometry != last.geometry or position.ply <= last.ply:
            searcher = Searcher(position.geometry)
        last = position
        asked, result = searcher, searcher.search(position, Budget(), max_depth=depth)
        agent.thoughts = lambda: asked.thoughts(position, result)  # type: ignore[attr-defined]
        return result.column

    return agent


def with_errors(agent: Callable, percent: float) -> Callable:
    """The agent, except that ``percent`` of its moves are random legal ones, drawn from the global generator."""

    def erring(obs, config):
        if 100 * random.random() < percent:
            return random.choice(Position.from_observation(obs, config).legal_columns())
        return agent(obs, config)

    return erring
