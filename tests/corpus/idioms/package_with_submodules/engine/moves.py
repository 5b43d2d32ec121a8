from .order import ORDER


def pick(obs, config):
    return next(c for c in ORDER if obs.board[c] == 0)
