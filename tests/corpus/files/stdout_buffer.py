# expect: REJECT replies
# because: buffer
import sys


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    sys.stdout.buffer.write(b"x")
    return legal(obs, config)[0]
