# expect: REJECT replies
# because: of type str
def agent(obs, config):
    return str([c for c in range(config.columns) if obs.board[c] == 0][0])
