# expect: ACCEPT
import enum
from dataclasses import dataclass
from typing import NamedTuple


class Side(enum.IntEnum):
    FIRST = 1
    SECOND = 2


@dataclass(frozen=True)
class Move:
    side: Side
    column: int


class Pair(NamedTuple):
    a: int
    b: int


def agent(obs, config):
    return Move(Side(obs.mark), [c for c in range(config.columns) if obs.board[c] == 0][-1]).column
