# expect: REJECT isolation
# because: without it the game fails
import subprocess

SYSTEM = subprocess.check_output(["uname", "-s"])


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return legal(obs, config)[0]
