# expect: ACCEPT
import time


def agent(obs, config, START_TIME=None, N_STEPS=2):
    START_TIME = START_TIME or time.time()
    return [c for c in range(config.columns) if obs.board[c] == 0][:N_STEPS][-1]
