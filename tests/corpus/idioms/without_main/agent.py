# expect: REJECT format
# because: no main.py at its root
def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return legal(obs, config)[0]
