# expect: REJECT replies
# because: raises ValueError
def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    if obs.step > 2:
        raise ValueError("no idea")
    return legal(obs, config)[0]
