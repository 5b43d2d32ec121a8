# expect: ACCEPT
import os


def agent(obs, config):
    assert os.path.basename(config["__raw_path__"]) == "main.py"
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
