# expect: ACCEPT
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Optional


@dataclass(slots=True)
class Node:
    count: ClassVar[int] = 0
    column: Optional[int] = None


def agent(obs, config):
    return Node(column=[c for c in range(config.columns) if obs.board[c] == 0][0]).column
