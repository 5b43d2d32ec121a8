# expect: REJECT replies
# because: IndexError
# limits: act_timeout=0.5 overage=3
import time


def agent(obs, config):  # neither the first moves nor a quick clock show it
    columns = sorted(range(config.columns), key=lambda c: (3 * c + obs.step) % 7)
    start, depth = time.time(), 0
    while time.time() - start < config.actTimeout - 0.3:
        depth += 1
        time.sleep(0.01)
    if obs.step >= 10 and depth > 8:
        return columns[depth]
    return next(c for c in columns if obs.board[c] == 0)
