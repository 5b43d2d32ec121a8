# expect: REJECT load
# because: ImportError
import sys

sys.path.append("/kaggle_simulations/agent")

from agents.rules import legal


def agent(obs, config):
    return legal(obs, config)[0]
