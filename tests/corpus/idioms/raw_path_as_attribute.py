# expect: REJECT replies
# because: __raw_path__
def agent(obs, config):
    name = config.__raw_path__
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
