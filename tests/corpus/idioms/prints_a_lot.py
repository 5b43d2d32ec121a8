# expect: ACCEPT
import sys


def agent(obs, config):
    for _ in range(100):
        print("thinking" * 500)
        print("about it" * 500, file=sys.stderr)
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
