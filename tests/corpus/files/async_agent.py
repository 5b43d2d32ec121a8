# expect: REJECT callable
# because: async
def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


async def agent(obs, config):
    return legal(obs, config)[0]
