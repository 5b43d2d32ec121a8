# expect: ACCEPT
HISTORY = []


def agent(obs, config):
    if HISTORY:
        assert obs.step == HISTORY[-1] + 2 and obs["mark"] == 1 + obs.step % 2
    HISTORY.append(obs.step)
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
