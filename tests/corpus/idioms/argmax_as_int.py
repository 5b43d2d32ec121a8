# expect: ACCEPT
import numpy as np


def agent(obs, config):
    return int(np.argmax([obs.board[c] == 0 for c in range(config.columns)]))
