# expect: ACCEPT
def my_agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]


def act(observation, configuration):
    return my_agent(observation, configuration)
