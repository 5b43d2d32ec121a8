# expect: REJECT
# because: of type function
def make_agent(depth=3):
    def agent(obs, config):
        return [c for c in range(config.columns) if obs.board[c] == 0][:depth][-1]

    return agent
