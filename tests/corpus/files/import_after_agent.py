# expect: REJECT callable
# because: Kaggle will call `floor`
def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]


from math import floor
