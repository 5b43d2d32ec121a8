# expect: ACCEPT
import json

ORDER = None


def agent(obs, config):
    global ORDER
    if ORDER is None:
        with open("/kaggle_simulations/agent/order.json") as file:
            ORDER = json.load(file)
    return next(c for c in ORDER if obs.board[c] == 0)
