# expect: REJECT callable
# because: async
async def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
