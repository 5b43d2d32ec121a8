# expect: REJECT replies
# because: buffer
import sys


def agent(obs, config):
    sys.stdout.buffer.write(b"x")
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
