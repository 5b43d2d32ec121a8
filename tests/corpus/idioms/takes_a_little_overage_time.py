# expect: ACCEPT
# says: it is gone after
# limits: act_timeout=0.1 overage=2
import time


def agent(obs, config):
    time.sleep(0.15 if config.rows * config.columns == 42 else 0)
    return next(c for c in (obs.mark - 1, *range(config.columns)) if obs.board[c] == 0)
