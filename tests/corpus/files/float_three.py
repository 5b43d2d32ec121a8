# expect: REJECT replies
# because: a float
def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return float(legal(obs, config)[0])
