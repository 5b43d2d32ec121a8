# expect: ACCEPT
import sys

print('loading')


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    print("step", obs.step, file=sys.stderr)
    return legal(obs, config)[0]
