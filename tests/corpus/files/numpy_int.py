# expect: REJECT replies
# because: a int64
import numpy


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return numpy.int64(legal(obs, config)[0])
