"""Alpha-beta of 4 plies over threats: the first player wants them in odd rows, the second in even ones."""

from bits import choose, completing

GOOD = 10.0  # fixed: an evaluation has no scale
WRONG = 10.0  # tune: -5 to 20
LOWER = 0.0  # tune: -5 to 5
CENTRE = 1.0  # tune: 0.01 to 20 log
MIDDLE = sum(1 << 7 * row + 3 for row in range(6))
ODD = sum(1 << 7 * row + column for row in (5, 3, 1) for column in range(7))  # rows 1, 3 and 5 from below
ROWS = [sum(1 << 7 * (5 - height) + column for column in range(7)) for height in range(6)]


def side(own, their, is_first):
    threats = completing(own, their)
    good = (threats & ODD).bit_count() if is_first else (threats & ~ODD).bit_count()
    low = sum((5 - height) * (threats & row).bit_count() for height, row in enumerate(ROWS))
    return GOOD * good + WRONG * (threats.bit_count() - good) + LOWER * low + CENTRE * (own & MIDDLE).bit_count()


def evaluate(own, their):
    is_first = own.bit_count() > their.bit_count()  # of the side that has just moved
    return side(own, their, is_first) - side(their, own, not is_first)


def agent(obs, config):
    return choose(obs, 4, evaluate)
