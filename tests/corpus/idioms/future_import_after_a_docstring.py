# expect: ACCEPT
"""An agent."""
from __future__ import annotations


def agent(obs: Observation, config: Configuration) -> int:
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
