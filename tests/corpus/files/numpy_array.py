# expect: REJECT replies
# because: of type ndarray
import numpy


def agent(obs, config):
    return numpy.array([c for c in range(config.columns) if obs.board[c] == 0][0])
