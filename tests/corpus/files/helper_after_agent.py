# expect: REJECT callable
# because: `agent` (line 3) is not called
def agent(obs, config):
    return pick(obs, config)


def pick(obs, config):
    return config.columns
