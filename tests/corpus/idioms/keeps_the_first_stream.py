# expect: REJECT game
# because: closed file
import sys

ERRORS = sys.stderr  # Kaggle gives each move another one, and closes it


def agent(obs, config):
    print("step", obs.step, file=ERRORS)
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
