# expect: ACCEPT
from numba import njit


@njit
def first(flags):
    for column in range(len(flags)):
        if flags[column] == 0:
            return column
    return -1


def agent(obs, config):
    return int(first(tuple(obs.board[: config.columns])))
