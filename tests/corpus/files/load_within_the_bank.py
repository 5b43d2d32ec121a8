# expect: ACCEPT
# limits: act_timeout=0.5 overage=1.5
import time

time.sleep(1)


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
