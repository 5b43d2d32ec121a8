# expect: ACCEPT
def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    column = legal(obs, config)[0]
    obs.board[:] = [1] * len(obs.board)
    config.columns = 1
    return column
