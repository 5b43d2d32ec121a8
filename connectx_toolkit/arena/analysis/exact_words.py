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
    if value.result is None:
        return "at least a draw" if value.low == 0 else "at most a draw" if value.high == 0 else "is not solved yet"
    words = {1: "wins", 0: "draws", -1: "loses"}[value.result]
    bound = value.low if value.result > 0 else value.high
    if bound == 0 or (abs(bound) == 1 and not value.exact):  # a bound that says no more than the result
        return words
    plies = plies_to_end(bound, ply, geometry.cells)
    return f"{words} in {'' if value.exact else 'at most '}{plies} {'ply' if plies == 1 else 'plies'}"
