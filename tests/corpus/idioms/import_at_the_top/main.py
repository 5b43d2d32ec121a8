# expect: ACCEPT
import helper


def agent(obs, config):
    return helper.pick(obs, config)
