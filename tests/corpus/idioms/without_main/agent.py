# expect: REJECT format
# because: no main.py at its root
def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
