# expect: ACCEPT
import gc
import random
import sys
import warnings

gc.disable()
random.seed(0)
sys.setrecursionlimit(20_000)
warnings.filterwarnings("ignore")


def legal(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]


def agent(obs, config):
    return random.choice(legal(obs, config))
