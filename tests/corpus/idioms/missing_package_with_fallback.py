# expect: ACCEPT
# says: catboost is not installed here, and it played without
try:
    import catboost
except ImportError:
    catboost = None


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return legal(obs, config)[0]
