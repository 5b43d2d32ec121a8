# expect: REJECT load
# because: read-only
with open("/kaggle_simulations/agent/log.txt", "w") as file:
    file.write("started")


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
