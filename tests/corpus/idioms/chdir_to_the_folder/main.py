# expect: ACCEPT
import json
import os

os.chdir("/kaggle_simulations/agent")
with open("order.json") as file:
    ORDER = json.load(file)


def agent(obs, config):
    return next(c for c in ORDER if obs.board[c] == 0)
