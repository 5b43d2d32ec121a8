# expect: REJECT load
# because: __file__
import os

FOLDER = os.path.dirname(__file__)


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
