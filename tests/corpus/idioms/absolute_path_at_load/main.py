# expect: ACCEPT
import json

with open("/kaggle_simulations/agent/order.json") as file:
    ORDER = json.load(file)


def agent(obs, config):
    return next(c for c in ORDER if obs.board[c] == 0)
