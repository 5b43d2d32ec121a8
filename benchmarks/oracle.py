"""bitbully with its database of the plies up to 12: exact scores that owe nothing to our solver, on 7x6.

bitbully is AGPL: an oracle and an opponent in tests and benchmarks, never a part of what ships.
"""

import sys
from functools import lru_cache
from typing import Any

from connectx.position import Position

try:
    from bitbully import bitbully_core
    from bitbully_databases import BitBullyDatabases
except ImportError:
    sys.exit("bitbully and bitbully-databases are not installed (pip install -r requirements-dev.txt)")

FULL_COLUMN = -100  # bitbully's scores of moves that cannot be played are below


@lru_cache(maxsize=1)
def engine() -> Any:
    return bitbully_core.BitBullyCore(BitBullyDatabases.get_database_path("12-ply-dist"))


def exact_scores(cells: list[int]) -> list[int | None]:
    """The score of every column's move for the side to move, None where it is full; ``cells`` as in Kaggle's board."""
    board = bitbully_core.BoardCore()
    if not board.setBoard([cells[start : start + 7] for start in range(0, 42, 7)]):
        raise ValueError(f"bitbully refuses the board {cells}")
    return [None if score < FULL_COLUMN else score for score in engine().scoreMoves(board)]


def scores_of(position: Position) -> list[int | None]:
    """The same for a position."""
    return exact_scores(position.to_board())
