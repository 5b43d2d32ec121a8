# expect: ACCEPT
HISTORY = []


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    if HISTORY:
        assert obs.step == HISTORY[-1] + 2 and obs["mark"] == 1 + obs.step % 2
    HISTORY.append(obs.step)
    return legal(obs, config)[0]
