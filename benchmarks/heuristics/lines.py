"""Alpha-beta of 4 plies over open lines, both sides alike."""

from bits import choose, counts

ONE = 1.0  # fixed: an evaluation has no scale
TWO = 3.0  # tune: 0.1 to 100 log
THREE = 9.0  # tune: 0.1 to 1000 log
THEIRS = 1.0  # tune: 0.2 to 5 log


def evaluate(own, their):
    mine, others = counts(own, their)
    return sum(w * (mine[n] - THEIRS * others[n]) for n, w in ((1, ONE), (2, TWO), (3, THREE)))


def agent(obs, config):
    return choose(obs, 4, evaluate)
