# expect: REJECT load
# because: the archive has no book.txt
with open("/kaggle_simulations/agent/book.txt") as file:
    BOOK = file.read()


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
