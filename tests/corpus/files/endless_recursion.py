# expect: REJECT replies
# because: RecursionError
def search(board):
    return search(board)


def agent(obs, config):
    return search(obs.board)
