# expect: ACCEPT
import json
import os

ORDER = [9]  # not a column: played only where the file is not found
if os.path.exists("/kaggle_simulations/agent/order.json"):
    with open("/kaggle_simulations/agent/order.json") as file:
        ORDER = json.load(file)


def agent(obs, config):
    return next(c for c in ORDER if c > 8 or obs.board[c] == 0)
