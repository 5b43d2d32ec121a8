"""Positions and exact scores in plain text."""

from connectx.geometry import Geometry
from connectx.score import plies_to_end
from connectx.solver import Value

STONES = ".XO"  # empty, who moves first, who moves second


def drawn(board: bytes, geometry: Geometry) -> str:
    """The board as text, the bottom row last, below a line with the numbers of the columns."""
    lines = [" ".join(f"{column:>2}" for column in range(geometry.columns))]
    for row in range(geometry.rows):
        cells = board[row * geometry.columns : (row + 1) * geometry.columns]
        lines.append(" ".join(f" {STONES[cell]}" for cell in cells))
    return "\n".join(lines)


def score_words(value: Value, ply: int, geometry: Geometry) -> str:
    """The score of a move at this ply in words: its result, and after how many plies, the move included."""
    words = {1: "wins", 0: "draws", -1: "loses", None: "is not solved yet"}[value.result]
    if not value.exact or value.low == 0:
        return words
    plies = plies_to_end(value.low, ply, geometry.cells)
    return f"{words} in {plies} {'ply' if plies == 1 else 'plies'}"
