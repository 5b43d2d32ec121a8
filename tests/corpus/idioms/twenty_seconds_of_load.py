# expect: ACCEPT
# limits: act_timeout=0.2 overage=2
import time

time.sleep(0.67)  # on a clock that is 30 times as fast


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
