# expect: REJECT load
# because: working directory is not the file's folder
import json

with open("order.json") as file:
    ORDER = json.load(file)


def agent(obs, config):
    return next(c for c in ORDER if obs.board[c] == 0)
