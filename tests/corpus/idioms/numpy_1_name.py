# expect: REJECT load
# because: and numpy 2 on the judge, have no int
import numpy as np

ORDER = np.array([3, 2, 4, 1, 5, 0, 6], dtype=np.int)


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
