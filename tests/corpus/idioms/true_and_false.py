# expect: REJECT replies
# because: returns False, True, of type bool
def agent(obs, config):
    return obs.board[0] != 0
