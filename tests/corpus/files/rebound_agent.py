# expect: REJECT callable
# because: Kaggle will call `reply`
def agent(obs, config):
    return 0


def reply(obs, config):
    return -1


def agent(obs, config):
    return obs.board.index(0)
