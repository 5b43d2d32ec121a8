# expect: REJECT overage time
# because: even when no overage time is left
# limits: act_timeout=0.2 overage=2
import time


def agent(obs, config):
    time.sleep(0.4)
    return min([c for c in range(config.columns) if obs.board[c] == 0], key=lambda c: (3 * c + obs.step) % 7)
