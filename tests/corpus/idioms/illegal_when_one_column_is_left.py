# expect: ACCEPT
# says: would be accepted, then forfeit when the board is nearly full
def agent(obs, config):
    columns = [c for c in range(config.columns) if obs.board[c] == 0]
    return columns[0] if len(columns) > 1 else config.columns
