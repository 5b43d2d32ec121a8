# expect: REJECT replies
# because: returns -1
def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return -1
