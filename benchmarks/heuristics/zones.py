"""Alpha-beta of 4 plies over the places of the stones: columns by their distance from the middle, and rows."""

from bits import choose

COLUMN_3 = 4.0  # fixed: an evaluation has no scale
COLUMN_2 = 3.0  # tune: -2 to 8
COLUMN_1 = 2.0  # tune: -2 to 8
COLUMN_0 = 1.0  # tune: -2 to 8
LOW_ROWS = 0.0  # tune: -4 to 4
HIGH_ROWS = 0.0  # tune: -4 to 4
COLUMNS = [sum(1 << 7 * row + c for row in range(6) for c in {d, 6 - d}) for d in range(4)]
LOW, HIGH = sum(1 << cell for cell in range(28, 42)), sum(1 << cell for cell in range(14))


def side(stones):
    value = LOW_ROWS * (stones & LOW).bit_count() + HIGH_ROWS * (stones & HIGH).bit_count()
    weights = (COLUMN_0, COLUMN_1, COLUMN_2, COLUMN_3)
    return value + sum(w * (stones & cells).bit_count() for w, cells in zip(weights, COLUMNS, strict=True))


def evaluate(own, their):
    return side(own) - side(their)


def agent(obs, config):
    return choose(obs, 4, evaluate)
