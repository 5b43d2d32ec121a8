# expect: REJECT load
# because: read-only
with open("/kaggle_simulations/agent/log.txt", "w") as file:
    file.write("started")


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return legal(obs, config)[0]
