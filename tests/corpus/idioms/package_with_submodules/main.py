# expect: ACCEPT
from engine.moves import pick


def agent(obs, config):
    return pick(obs, config)
