# expect: REJECT text
# because: byte order mark
def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
