def pick(obs, config):
    return next(c for c in (3, 2, 4, 1, 5, 0, 6) if obs.board[c] == 0)
