# expect: ACCEPT
import multiprocessing

multiprocessing.set_start_method("spawn", force=True)
TABLE = multiprocessing.Manager().dict()


def agent(obs, config):
    TABLE[obs.step] = [c for c in range(config.columns) if obs.board[c] == 0]
    return TABLE[obs.step][0]
