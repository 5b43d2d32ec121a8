# expect: ACCEPT
from concurrent.futures import ThreadPoolExecutor

POOL = ThreadPoolExecutor(2)


def agent(obs, config):
    return max(POOL.map(lambda column: -column, [c for c in range(config.columns) if obs.board[c] == 0])) * -1
