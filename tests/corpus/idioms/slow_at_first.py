# expect: ACCEPT
# says: later in the game it takes less
# limits: act_timeout=0.1 overage=0.8
import time

CALLS = []


def pick(obs, config):  # stacks its own column: the game ends after seven plies
    columns = [obs.mark - 1, *range(config.columns)]
    return next(c for c in columns if obs.board[c] == 0)


def agent(obs, config):
    CALLS.append(1)
    time.sleep(0.25 if len(CALLS) < 3 else 0)
    return pick(obs, config)
