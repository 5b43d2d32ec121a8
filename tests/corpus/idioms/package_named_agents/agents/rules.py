def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]
