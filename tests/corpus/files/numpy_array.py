# expect: REJECT replies
# because: a ndarray
import numpy


def agent(obs, config):
    return numpy.array([c for c in range(config.columns) if obs.board[c] == 0][0])
