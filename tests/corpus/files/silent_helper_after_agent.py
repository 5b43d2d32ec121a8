# expect: ACCEPT
# says: Kaggle will call `leftmost`
def agent(obs, config):
    return leftmost(obs)


def leftmost(obs):
    return obs.board.index(0)
