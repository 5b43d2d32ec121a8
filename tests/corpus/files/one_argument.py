# expect: ACCEPT
def agent(obs):
    return obs.board.index(0)
