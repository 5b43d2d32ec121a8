"""In the manner of the course's n-step look-ahead, 1 deep: windows by their stones. FOUR is in the search."""

from bits import choose, counts

ONE = 0.0  # tune: 0 to 10
TWO = 1.0  # tune: 0.01 to 100 log
THREE = 10.0  # fixed: an evaluation has no scale
THEIR_TWO = 1.0  # tune: 0.01 to 100 log
THEIR_THREE = 100.0  # tune: 0.1 to 1000 log
CENTRE = 0.0  # tune: 0 to 20
MIDDLE = sum(1 << 7 * row + 3 for row in range(6))


def evaluate(own, their):
    mine, others = counts(own, their)
    value = ONE * mine[1] + TWO * mine[2] + THREE * mine[3] - THEIR_TWO * others[2] - THEIR_THREE * others[3]
    return value + CENTRE * (own & MIDDLE).bit_count()


def agent(obs, config):
    return choose(obs, 1, evaluate)
