# expect: ACCEPT
# says: would be accepted, then run out of time when the board is nearly full
# limits: act_timeout=0.2 overage=0.5
import time


def agent(obs, config):
    columns = [c for c in range(config.columns) if obs.board[c] == 0]
    if len(columns) == 1:
        time.sleep(60)
    return columns[0]
