# expect: REJECT load
# because: environment variables are not known
import os

DEPTH = int(os.environ["CONNECTX_DEPTH"])


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
