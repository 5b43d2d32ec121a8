# expect: ACCEPT
from functools import lru_cache


@lru_cache(maxsize=None)
def weight(column):
    return -abs(column - 3)


def agent(obs, config):
    return max((c for c in range(config.columns) if obs.board[c] == 0), key=weight)
