# expect: ACCEPT
# limits: act_timeout=0.5 overage=3
import time

TABLE = {}


def agent(obs, config):
    columns = [c for c in range(config.columns) if obs.board[c] == 0]
    start = time.time()
    while time.time() - start < config.actTimeout - 0.4:
        TABLE[len(TABLE), obs.mark] = columns[len(TABLE) % len(columns)]
    return TABLE.get((len(TABLE) - 1, obs.mark), columns[0])
