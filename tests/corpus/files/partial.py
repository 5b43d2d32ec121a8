# expect: ACCEPT
import functools


def choose(which, obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][which]


player = functools.partial(choose, 0)
