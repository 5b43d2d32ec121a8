"""Alpha-beta of 3 plies over lines, threats and the middle, as one adds them one after the other."""

from bits import choose, completing, counts

TWO = 10.0  # fixed: an evaluation has no scale
THREE = 100.0  # tune: 1 to 1000 log
THREAT = 50.0  # tune: 0.1 to 1000 log
ODD_THREAT = 0.0  # tune: 0 to 100
CENTRE = 3.0  # tune: 0.1 to 100 log
TEMPO = 0.0  # tune: -20 to 20
MIDDLE = sum(1 << 7 * row + 3 for row in range(6))
ODD = sum(1 << 7 * row + column for row in (5, 3, 1) for column in range(7))


def evaluate(own, their):
    mine, others = counts(own, their)
    threats, against = completing(own, their), completing(their, own)
    value = TWO * (mine[2] - others[2]) + THREE * (mine[3] - others[3])
    value += THREAT * (threats.bit_count() - against.bit_count())
    value += ODD_THREAT * ((threats & ODD).bit_count() - (against & ODD).bit_count())
    return value + CENTRE * ((own & MIDDLE).bit_count() - (their & MIDDLE).bit_count()) + TEMPO * mine[1]


def agent(obs, config):
    return choose(obs, 3, evaluate)
