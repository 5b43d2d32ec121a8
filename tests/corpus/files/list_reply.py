# expect: REJECT replies
# because: a list
def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][:1]
