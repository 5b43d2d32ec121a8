# expect: REJECT format
# because: pack from inside that folder
def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
