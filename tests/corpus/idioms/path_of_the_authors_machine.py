# expect: REJECT load
# because: the judge has only what is submitted
with open("/home/author/connectx/book.txt") as file:
    BOOK = file.read()


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
