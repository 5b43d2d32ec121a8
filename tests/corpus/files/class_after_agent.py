# expect: REJECT callable
# because: Kaggle will call `Table`
def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return legal(obs, config)[0]


class Table:
    pass
