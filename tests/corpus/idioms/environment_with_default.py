# expect: ACCEPT
import os

DEPTH = int(os.environ.get("CONNECTX_DEPTH", "4"))


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
