# expect: REJECT text
# because: is a notebook's command
!pip install numba


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
