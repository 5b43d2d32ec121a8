# expect: ACCEPT
import os

os.mkdir("cache")


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
