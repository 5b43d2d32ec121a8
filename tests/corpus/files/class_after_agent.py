# expect: REJECT callable
# because: Kaggle will call `Table`
def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]


class Table:
    pass
