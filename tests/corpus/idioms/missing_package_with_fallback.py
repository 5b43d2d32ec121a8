# expect: ACCEPT
# says: catboost is not installed here, and it played without
try:
    import catboost
except ImportError:
    catboost = None


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
