# expect: ACCEPT
import multiprocessing

multiprocessing.set_start_method("fork")  # a second time in the same process it raises RuntimeError


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
