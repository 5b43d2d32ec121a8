# expect: REJECT first move
# because: of 2 s
# limits: act_timeout=0.5 overage=1.5
import time

time.sleep(3)


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return legal(obs, config)[0]
