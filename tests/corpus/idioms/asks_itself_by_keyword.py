# expect: ACCEPT
def act(observation, configuration):
    return [c for c in range(configuration.columns) if observation.board[c] == 0][0]


def agent(observation, configuration):
    return act(observation=observation, configuration=configuration)
