# expect: ACCEPT
from pathlib import Path


def order():
    return [int(text) for text in Path("/kaggle_simulations/agent", "order.txt").read_text().split()]


def agent(obs, config):
    return next(c for c in order() if obs.board[c] == 0)
