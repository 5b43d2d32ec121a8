# expect: REJECT load
# because: no notebook's folders
with open("/kaggle/input/connectx-book/book.txt") as file:
    BOOK = file.read()


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
