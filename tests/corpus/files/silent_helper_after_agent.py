# expect: REJECT callable
# because: Kaggle takes leftmost
# kaggle: DONE, since the helper happens to play legally
def agent(obs, config):
    return leftmost(obs)


def leftmost(obs):
    return obs.board.index(0)
