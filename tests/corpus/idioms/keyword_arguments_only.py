# expect: REJECT replies
# because: cut to as many as the function names
def agent(*, obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
