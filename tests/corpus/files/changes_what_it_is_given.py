# expect: ACCEPT
def agent(obs, config):
    column = [c for c in range(config.columns) if obs.board[c] == 0][0]
    obs.board[:] = [1] * len(obs.board)
    config.columns = 1
    return column
