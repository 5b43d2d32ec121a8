# expect: REJECT callable
# because: `my_agent` (line 3) is not called
def my_agent(obs, config):
    return first([c for c in range(config.columns) if obs.board[c] == 0])


def first(columns):
    return columns[0]
