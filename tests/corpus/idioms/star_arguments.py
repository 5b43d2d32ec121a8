# expect: REJECT replies
# because: ValueError
def agent(*args):
    obs, config = args
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
