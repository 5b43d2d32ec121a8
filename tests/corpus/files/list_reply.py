# expect: REJECT replies
# because: of type list
def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][:1]
