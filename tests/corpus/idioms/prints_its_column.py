# expect: REJECT replies
# because: returns None
def agent(obs, config):
    print(next(c for c in range(config.columns) if obs.board[c] == 0))
