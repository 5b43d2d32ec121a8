# expect: REJECT overage time
# because: even when no overage time is left
# limits: act_timeout=0.2 overage=2
import time


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    time.sleep(0.4)
    return min(legal(obs, config), key=lambda c: (3 * c + obs.step) % 7)
