# expect: ACCEPT
# says: the judge's clock: DONE
# limits: act_timeout=0.1 overage=0.8
import time


def pick(obs, config):  # stacks its own column: the game ends after seven plies
    columns = [obs.mark - 1, *range(config.columns)]
    return next(c for c in columns if obs.board[c] == 0)


def agent(obs, config):
    if config.rows * config.columns == 42:
        time.sleep(config.actTimeout + obs.remainingOverageTime / 2)
    return pick(obs, config)
