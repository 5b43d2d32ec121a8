# expect: ACCEPT
# says: would be accepted, then crash when the board is nearly full
def agent(obs, config):
    columns = [c for c in range(config.columns) if obs.board[c] == 0]
    return min(columns[0], columns[1])
