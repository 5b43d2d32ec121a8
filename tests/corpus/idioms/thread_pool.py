# expect: ACCEPT
from concurrent.futures import ThreadPoolExecutor

POOL = ThreadPoolExecutor(2)


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return max(POOL.map(lambda column: -column, legal(obs, config))) * -1
