# expect: ACCEPT
# says: the judge's clock: DONE
# limits: act_timeout=0.35 overage=0.4
import time


def pick(obs, config):  # stacks its own column: the game ends after seven plies
    columns = [obs.mark - 1, *range(config.columns)]
    return next(c for c in columns if obs.board[c] == 0)


def agent(obs, config):
    time.sleep(0.25 if config.rows * config.columns == 42 else 0)
    return pick(obs, config)
