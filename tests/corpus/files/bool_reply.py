# expect: REJECT replies
# because: a bool
def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return bool(legal(obs, config)[0])
