# expect: ACCEPT
import sys

print('loading')


def agent(obs, config):
    print("step", obs.step, file=sys.stderr)
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
