# expect: ACCEPT
with open("/tmp/connectx_order.txt", "w") as file:
    file.write("3 2 4 1 5 0 6")
with open("/tmp/connectx_order.txt") as file:
    ORDER = [int(text) for text in file.read().split()]


def agent(obs, config):
    return next(c for c in ORDER if obs.board[c] == 0)
