# expect: ACCEPT
import sys

sys.path.insert(0, "/kaggle_simulations/agent")


def agent(obs, config):
    import helper

    return helper.pick(obs, config)
