# expect: REJECT isolation
# because: without it the game fails
import subprocess

SYSTEM = subprocess.check_output(["uname", "-s"])


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
