"""Alpha-beta of 3 plies with whole numbers and a word: which side's lines count."""

from bits import choose, counts

STYLE = "mine"  # tune: mine, theirs, both
TWO = 1  # tune: 0 to 20
THREE = 5  # tune: 0 to 50
EDGE = 0  # tune: -10 to 10
CENTRE = 2  # tune: 0 to 20
MIDDLE = sum(1 << 7 * row + 3 for row in range(6))
EDGES = sum(1 << 7 * row + column for row in range(6) for column in (0, 6))


def evaluate(own, their):
    mine, others = counts(own, their)
    value = CENTRE * (own & MIDDLE).bit_count() + EDGE * (own & EDGES).bit_count()
    if STYLE != "theirs":
        value += TWO * mine[2] + THREE * mine[3]
    if STYLE != "mine":
        value -= TWO * others[2] + THREE * others[3]
    return value


def agent(obs, config):
    return choose(obs, 3, evaluate)
