# expect: REJECT
# because: TIMEOUT of seat 1 on ply 6
# limits: act_timeout=0.1 overage=0.3
import time


def agent(obs, config):
    while obs.board[3]:
        time.sleep(0.1)
    return 3
