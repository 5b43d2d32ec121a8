# expect: REJECT text
# because: is a notebook's command
!pip install numba


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return legal(obs, config)[0]
