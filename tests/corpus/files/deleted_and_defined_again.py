# expect: ACCEPT
def agent(obs, config):
    return -1


def helper():
    return None


del agent


def agent(obs, config):
    return obs.board.index(0)
