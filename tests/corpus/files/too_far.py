# expect: REJECT replies
# because: not a legal column
def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return config.columns
