# expect: ACCEPT
import json
import os

FOLDER = "/kaggle_simulations/agent" if os.path.exists("/kaggle_simulations/agent") else "."
with open(os.path.join(FOLDER, "order.json")) as file:
    ORDER = json.load(file)


def agent(obs, config):
    return next(c for c in ORDER if obs.board[c] == 0)
