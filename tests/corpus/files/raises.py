# expect: REJECT replies
# because: raises ValueError
def agent(obs, config):
    if obs.step > 2:
        raise ValueError("no idea")
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
