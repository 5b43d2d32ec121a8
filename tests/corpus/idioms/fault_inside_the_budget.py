# expect: REJECT replies
# because: NameError
# limits: act_timeout=0.5 overage=3
import time


def agent(obs, config):  # at a clock quicker than its margin it never searches
    columns = [c for c in range(config.columns) if obs.board[c] == 0]
    start, best = time.time(), columns[0]
    while time.time() - start < config.actTimeout - 0.4:
        score = np.Inf
    return best
