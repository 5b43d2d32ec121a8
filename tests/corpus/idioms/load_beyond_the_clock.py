# expect: REJECT first move
# because: with the first move 1.5
# limits: act_timeout=0.2 overage=0.6
import time

time.sleep(1.5)


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
