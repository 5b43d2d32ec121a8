# expect: REJECT game
# because: NoneType
from numba import njit


@njit(cache=True)
def first(flags):
    for column in range(len(flags)):
        if flags[column] == 0:
            return column
    return -1


def agent(obs, config):
    return int(first(tuple(obs.board[: config.columns])))
