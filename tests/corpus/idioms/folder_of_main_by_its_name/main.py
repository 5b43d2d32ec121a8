# expect: REJECT load
# because: sets no __file__
import os

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "order.json")) as file:
    ORDER = file.read()


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
