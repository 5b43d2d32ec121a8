# expect: REJECT load
# because: has it at data/order.json
with open("/kaggle_simulations/agent/order.json") as file:
    BOOK = file.read()


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
