"""Sparring partners of graded strength: agents that are weakened as their name says.

``minimax@4`` is the search of minimax with the heuristic, 4 plies deep, without a clock; ``NAME~10`` is any agent of
ours or of Kaggle's that plays a random legal move in 10% of its moves; ``minimax@4~10`` is both.
"""

import random
from collections.abc import Callable
from functools import lru_cache

from connectx_core.clock import Budget, GameMemory
from connectx_core.position import STANDARD, Geometry, Position
from connectx_core.search import Searcher


def at_depth(depth: int) -> Callable:
    """The search of minimax with the heuristic, always to the same depth."""
    Searcher(STANDARD).search(Position.empty(STANDARD), Budget(), max_depth=1)  # made ready at the load, as minimax is

    @lru_cache(maxsize=1)
    def searcher_for(geometry: Geometry) -> Searcher:
        return Searcher(geometry)

    game = GameMemory(searcher_for.cache_clear)

    def agent(obs, config):
        position = Position.from_observation(obs, config)
        game.meet(position)
        searcher = searcher_for(position.geometry)
        result = searcher.search(position, Budget(), max_depth=depth)
        agent.thoughts = lambda: searcher.thoughts(position, result)  # type: ignore[attr-defined]
        game.leave(position.play(result.column))
        return result.column

    return agent


def with_errors(agent: Callable, percent: float) -> Callable:
    """The agent, except that ``percent`` of its moves are random legal ones, drawn from the global generator."""

    def erring(obs, config):
        if 100 * random.random() < percent:
            return random.choice(Position.from_observation(obs, config).legal_columns())
        return agent(obs, config)

    return erring
