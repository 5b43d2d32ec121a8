# expect: REJECT load
# because: FileNotFoundError
with open('weights.txt') as file:
    WEIGHTS = file.read()


def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
