# expect: REJECT replies
# because: returns False, True, a bool
def agent(obs, config):
    return obs.board[0] != 0
