# expect: REJECT replies
# because: of type float
def agent(obs, config):
    return float([c for c in range(config.columns) if obs.board[c] == 0][0])
