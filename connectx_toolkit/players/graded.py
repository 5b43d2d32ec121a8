"""Sparring partners of graded strength: agents that are weakened as their name says.

``minimax@4`` is the search of minimax with the heuristic, 4 plies deep, without a clock; ``NAME~10`` is any agent of
ours or of Kaggle's that plays a random legal move in 10% of its moves; ``minimax@4~10`` is both.
"""

import random
from collections.abc import Callable

from connectx_core.clock import Budget
from connectx_core.position import Position
from connectx_core.search import GameSearcher


def at_depth(depth: int) -> Callable:
    """The search of minimax with the heuristic, always to the same depth."""
    search = GameSearcher()

    def agent(obs, config):
        result = search.find_move(Position.from_observation(obs, config), Budget(), depth)
        agent.thoughts = search.thoughts  # type: ignore[attr-defined]
        return result.column

    return agent


def with_errors(agent: Callable, percent: float) -> Callable:
    """The agent, except that ``percent`` of its moves are random legal ones, drawn from the global generator."""

    def erring(obs, config):
        if 100 * random.random() < percent:
            return random.choice(Position.from_observation(obs, config).legal_columns())
        return agent(obs, config)

    return erring
