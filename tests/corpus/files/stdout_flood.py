# expect: ACCEPT
def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    print("x" * 5_000_000)
    return legal(obs, config)[0]
