# expect: ACCEPT
import os


def agent(obs, config):
    os.write(1, b"x" * 1_000_000)
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
