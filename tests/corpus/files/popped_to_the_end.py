# expect: ACCEPT
def agent(obs, config):
    return helper(obs)


def helper(obs):
    return obs.board.index(0)


agent = globals().pop("agent")
