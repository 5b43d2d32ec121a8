# expect: REJECT format
# because: is a folder
def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
