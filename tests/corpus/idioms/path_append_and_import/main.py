# expect: ACCEPT
import sys

sys.path.append("/kaggle_simulations/agent")
from helper import pick


def agent(obs, config):
    return pick(obs, config)
