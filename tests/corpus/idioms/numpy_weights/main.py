# expect: ACCEPT
import numpy as np

ORDER = np.load("/kaggle_simulations/agent/order.npz")["order"]


def agent(obs, config):
    return int(next(c for c in ORDER if obs.board[c] == 0))
