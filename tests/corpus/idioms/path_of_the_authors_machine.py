# expect: REJECT load
# because: Kaggle has only what you submit
with open("/home/author/connectx/book.txt") as file:
    BOOK = file.read()


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
