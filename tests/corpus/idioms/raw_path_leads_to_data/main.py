# expect: ACCEPT
import json
import os


def agent(obs, config):
    with open(os.path.join(os.path.dirname(config["__raw_path__"]), "order.json")) as file:
        order = json.load(file)
    return next(c for c in order if obs.board[c] == 0)
