# expect: REJECT load
# because: NameError
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, get_type_hints


@dataclass
class Node:
    column: Optional[int] = None


HINTS = get_type_hints(Node)

def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
