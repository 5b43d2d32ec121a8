# expect: REJECT replies
# because: NameError
def my_agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]


def my_agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][-1]


def my_agent(obs, config):
    return max([c for c in range(config.columns) if obs.board[c] == 0], key=score)
