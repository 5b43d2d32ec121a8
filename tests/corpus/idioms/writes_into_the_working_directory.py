# expect: ACCEPT
import json
import os


def agent(obs, config):
    if os.path.exists("memory.json"):
        with open("memory.json") as file:
            assert json.load(file) < obs.step
    with open("memory.json", "w") as file:
        json.dump(obs.step, file)
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
