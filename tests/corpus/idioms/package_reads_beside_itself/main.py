# expect: ACCEPT
from engine import ORDER


def agent(obs, config):
    return next(c for c in ORDER if obs.board[c] == 0)
