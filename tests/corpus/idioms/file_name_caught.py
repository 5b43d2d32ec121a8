# expect: ACCEPT
import os

try:
    FOLDER = os.path.dirname(__file__)
except NameError:
    FOLDER = "."


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
