# expect: ACCEPT
import os


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    os.write(1, b"x" * 1_000_000)
    return legal(obs, config)[0]
