# expect: ACCEPT
# says: names __file__
import os

try:
    FOLDER = os.path.dirname(__file__)
except NameError:
    FOLDER = "."


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return legal(obs, config)[0]
