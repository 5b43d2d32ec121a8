# expect: REJECT replies
# because: ends the judge's process
def agent(obs, config):
    if obs.step > 3:
        exit()
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
