"""An opponent: bitbully with its database of all positions through ply 12; of moves with equal scores, any.

bitbully is AGPL: an opponent in benchmarks, never a part of what ships.
"""

import random

from bitbully import bitbully_core
from bitbully_databases import BitBullyDatabases

engine = bitbully_core.BitBullyCore(BitBullyDatabases.get_database_path("12-ply-dist"))
FULL_COLUMN = -1000  # bitbully's score of a move that cannot be played


def agent(obs, config):
    board = bitbully_core.BoardCore()
    rows = [list(obs.board[row * config.columns :][: config.columns]) for row in range(config.rows)]
    if not board.setBoard(rows):
        raise ValueError(f"bitbully refuses the board {rows}")
    scores = engine.scoreMoves(board)
    best = max(score for score in scores if score > FULL_COLUMN)
    return random.choice([column for column, score in enumerate(scores) if score == best])
