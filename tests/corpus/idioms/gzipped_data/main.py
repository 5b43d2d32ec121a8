# expect: ACCEPT
import gzip

with gzip.open("/kaggle_simulations/agent/order.gz", "rt") as file:
    ORDER = [int(text) for text in file.read().split()]


def agent(obs, config):
    return next(c for c in ORDER if obs.board[c] == 0)
