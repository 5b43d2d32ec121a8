# expect: REJECT load
# because: the archive has no book.txt
with open("/kaggle_simulations/agent/book.txt") as file:
    BOOK = file.read()


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return legal(obs, config)[0]
