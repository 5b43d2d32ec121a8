# expect: ACCEPT
import multiprocessing

multiprocessing.set_start_method("fork")  # a second time in the same process it raises RuntimeError


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return legal(obs, config)[0]
