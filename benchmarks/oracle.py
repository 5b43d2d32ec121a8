"""bitbully with its database of plies up to 12: exact scores on 7x6 that are independent of our solver.

bitbully is AGPL: an oracle and an opponent in tests and benchmarks, never a part of what ships.
"""

import sys
from functools import lru_cache
from typing import Any

from connectx_core.position import Position

try:
    from bitbully import bitbully_core
    from bitbully_databases import BitBullyDatabases
except ImportError:
    sys.exit("bitbully and bitbully-databases are not installed (make .venv/.installed-dev)")

FULL_COLUMN = -100  # bitbully's scores of illegal moves are below this


@lru_cache(maxsize=1)
def engine() -> Any:
    return bitbully_core.BitBullyCore(BitBullyDatabases.get_database_path("12-ply-dist"))


def exact_scores(cells: list[int]) -> list[int | None]:
    """The score of every column's move for the side to move, None for a full one; ``cells`` in Kaggle's order."""
    board = bitbully_core.BoardCore()
    if not board.setBoard([cells[start : start + 7] for start in range(0, 42, 7)]):
        raise ValueError(f"bitbully refuses the board {cells}")
    return [None if score < FULL_COLUMN else score for score in engine().scoreMoves(board)]


def bitbully_scores(position: Position) -> list[int | None]:
    """The same for a position."""
    return exact_scores(position.to_board())
