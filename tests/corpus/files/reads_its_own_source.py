# expect: ACCEPT
import inspect


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]


LINES = len(inspect.getsource(agent))
