# expect: REJECT replies
# because: have no tostring
import numpy as np


def agent(obs, config):
    key = np.array(obs.board).tostring()
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
