# expect: ACCEPT
import sys


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    for _ in range(100):
        print("thinking" * 500)
        print("about it" * 500, file=sys.stderr)
    return legal(obs, config)[0]
