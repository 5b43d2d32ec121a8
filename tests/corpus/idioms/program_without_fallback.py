# expect: NOT JUDGED
# says: without it the game fails
# kaggle: not asked, nobody says which programs its image has
import subprocess

SYSTEM = subprocess.check_output(["uname", "-s"])


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
