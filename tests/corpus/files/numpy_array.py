# expect: REJECT replies
# because: a ndarray
import numpy


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return numpy.array(legal(obs, config)[0])
