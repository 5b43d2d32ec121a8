# expect: REJECT replies
# because: of type int64, where Kaggle wants an int: return int(column)
import numpy as np


def agent(obs, config):
    return np.argmax([obs.board[c] == 0 for c in range(config.columns)])
