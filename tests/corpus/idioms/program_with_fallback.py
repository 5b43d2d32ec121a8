# expect: ACCEPT
# says: starts nproc; nobody says whether the judge has that; it plays on without
import os

try:
    CORES = int(os.popen("nproc").read())
except ValueError:
    CORES = 1


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
