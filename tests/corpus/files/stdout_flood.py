# expect: ACCEPT
def agent(obs, config):
    print("x" * 5_000_000)
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
