# expect: ACCEPT
agent = lambda obs, config: [c for c in range(config.columns) if obs.board[c] == 0][0]
