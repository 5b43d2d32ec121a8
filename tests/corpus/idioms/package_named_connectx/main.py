# expect: ACCEPT
import sys

sys.path.append("/kaggle_simulations/agent")

from connectx.rules import legal


def agent(obs, config):
    return legal(obs, config)[0]
